"""``nki.language`` (``nl``) of the older interface: dtypes, memories, tensors, loops, arithmetic.

Functions of one instruction leave it waiting until its destination is known (``operation.py``);
those of several are put together by the current interface's language.
"""

from trainium_edu.nki.beta1.index import arange as arange
from trainium_edu.nki.beta1.index import mgrid as mgrid
from trainium_edu.nki.beta1.language.creation import *
from trainium_edu.nki.beta1.language.dtypes import *
from trainium_edu.nki.beta1.language.elementwise import *
from trainium_edu.nki.beta1.language.loops import *
from trainium_edu.nki.beta1.language.moving import *
from trainium_edu.nki.beta1.language.reductions import *
from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.language.tile_sizes import tile_size as tile_size
from trainium_edu.nki.objects.indexing import ds as ds

__getattr__ = names_of(__name__, "neuronxcc.nki.language")
