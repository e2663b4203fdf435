"""What an exported network says of a picture, in a program that needs onnxruntime, Pillow and numpy only.

python examples/onnx_without_torch.py model.onnx picture.png
"""

import json
import sys
from functools import partial

import numpy as np
import onnxruntime
from PIL import Image, ImageOps

FITS = {"pad": partial(ImageOps.pad, color=0), "crop": ImageOps.fit, "squash": Image.Image.resize}


def main(model: str, picture: str) -> None:
    """Read the picture as the file says, ask, and name the class."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    told = session.get_modelmeta().custom_metadata_map
    channels, height, width = json.loads(told["image_shape"])
    image = ImageOps.exif_transpose(Image.open(picture)).convert("L" if channels == 1 else "RGB")
    image = FITS[told["fit"]](image, (width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(image, dtype=np.float32).reshape(height, width, channels) / 255
    scores, *_ = session.run(["scores"], {"images": pixels.transpose(2, 0, 1)[None]})
    print(json.loads(told["classes"])[int(scores[0].argmax())])


if __name__ == "__main__":
    main(*sys.argv[1:])
