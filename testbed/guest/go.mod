module sojourn/testbed/guest

go 1.24
