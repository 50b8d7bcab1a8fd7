"""The enums of ``nki.isa``, where kernels also import them from."""

from trainium_edu.nki.objects.enums import *
