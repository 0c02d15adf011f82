-- Whether operations of a device would be for anybody.
SELECT EXISTS (SELECT FROM agents_of($1, $2, $3))
