SELECT EXISTS (SELECT FROM subscriptions WHERE application = $1)
