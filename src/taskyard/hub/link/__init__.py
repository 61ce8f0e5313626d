"""The link between a hub that leads and one that does not: what the gateway of one hands to the core of the other.

messages.py   what they say to each other
wire.py       one connection: whole messages, in order, from somebody who knows the yard's secret
server.py     the leader's end: what a gateway asks is asked here, what it is to hear is sent there
asking.py     one question to every hub, before this one leads
remote.py     the other end: a hub as a gateway sees it, with the leader behind it
"""
