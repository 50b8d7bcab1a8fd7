// A small run, made by hand.

import { indexFilm } from "../../../trainium_edu/widgets/static/explorer/film.js";
import { TimeWindow } from "../../../trainium_edu/widgets/static/explorer/time_window.js";

// Rows: 0 a transfer on two queues (0 to 40), 1 a matmul (40 to 60), 2 another (80 to 100), which
// waited 20; one tile from 0 to 60, one from 40 to 100.  All is on the critical path but the wait.
export const film = () =>
  indexFilm({
    makespan: 100,
    tracks: [
      ["Tensor Engine", "tensor", "engine"],
      ["DMA queue 0", "dma", "queue"],
      ["DMA queue 1", "dma", "queue"],
      ["port: a on b", "sync", "port"],
    ],
    busy: [40, 0, 0, 0],
    spans_start: [80, 40, 0, 10, 40],
    spans_end: [100, 60, 40, 30, 60],
    spans_track: [0, 0, 1, 2, 3],
    spans_row: [2, 1, 0, 0, 1],
    rows_start: Float64Array.of(0, 40, 80),
    rows_end: Float64Array.of(40, 60, 100),
    rows_instruction: Int32Array.of(0, 1, 2),
    rows_lane: Uint16Array.of(1, 0, 0),
    rows_critical: Uint8Array.of(1, 1, 1),
    waits_row: Int32Array.of(2),
    waits_ns: Float64Array.of(20),
    pieces_start: Float64Array.of(0, 40, 80),
    pieces_end: Float64Array.of(40, 60, 100),
    pieces_row: Int32Array.of(0, 1, 2),
    load_ns: [0, 10, 30, 40],
    load: [1, 2, 1, 0],
    memories: [
      { capacity: 1000, high: 300 },
      { capacity: 160, banks: 8, high: 20 },
    ],
    tiles_memory: [0, 1],
    tiles_address: [0, 20],
    tiles_bytes: [300, 20],
    tiles_start: Float64Array.of(0, 40),
    tiles_end: Float64Array.of(60, 100),
    tiles_allocation: [0, 1],
  });
export const book = () => ({
  lines: [{ line: 5 }, { line: 7 }, { line: 9 }],
  i_line: Int32Array.of(0, 1, 1),
  i_call: Int32Array.of(-1, 2, -1),
  a_first: Int32Array.of(0, 1, 3, 4),
  a_allocation: Int32Array.of(0, 0, 1, 1),
  allocations: [{ line: 0 }, { line: 2 }],
});
export const view = Object.assign(new TimeWindow(), { hi: 100, end: 100, width: 500 });
