-- Notes that this server ($1) asserts no more because it is alone, unless another server is registered.
SELECT assert_no_more($1)
