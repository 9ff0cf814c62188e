"""Settings of each stage, one module a stage.

A stage imports only its own module, so that a changed default reruns only the stages it touches.
"""
