for x in y:
    for z in f(
        """ for
"""):
        g(z) # for
    while a: b()
[c for d in e]
