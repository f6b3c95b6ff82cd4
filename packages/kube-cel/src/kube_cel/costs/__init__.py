"""
What an expression may cost at worst, told from its text and the sizes of what it reads.

The API server refuses rules by this estimate, so it is cel-go's and Kubernetes' to the unit, with
their oddities. It knows nothing of schemas: who asks says how long the values at a path may be.
"""
