"""A slow, obvious matcher of requests, written apart from the package: no SQL, only its parser.

    corpus = of_bank(path, "sample/minilm")  # trees, metadata, mentions, the inputs of a run
    hits("pattern { V -[obj]-> O; e: O =[3-*]=> V }", corpus)
    hits("pattern { A ~ B }", corpus, "document")
    draw(seed, corpus)                       # a request that is true of some words of it

A hit has the sent_id of its first node's sentence, (node, (sent_id, index)) for each node and
(edge, label) for each named edge, both in the order of their names. The `$` of a node such as `B$`
is part of its name, as in Grew.
"""
