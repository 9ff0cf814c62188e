"""The methods: one loop of routing, retrieval, refinement and follow-up, with switches.

``registry`` reads the switches from config/methods.yaml, ``loop`` runs a batch of questions,
``run`` is the stage.
"""
