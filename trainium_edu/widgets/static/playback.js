// For players that do not import yet: they find these names in front of them.
import { GLYPHS, focusable, make } from "./shared/elements.js";
import { Playback } from "./shared/playback.js";

const createPlayback = (options) => new Playback(options);
