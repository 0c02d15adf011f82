-- Notes that this server ($1) is alone and asserts no more, unless there is another one.
SELECT assert_no_more($1)
