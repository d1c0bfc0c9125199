/* The peer of the kernels' benchmark: the same winnowing as a C programmer would write it.
 *
 * Reads the raw text given by the caller, keeps ASCII letters and digits (lower-cased), rolls
 * a Karp-Rabin hash over k symbols, and keeps the minima of each window in a ring buffer as
 * in Figure 5 of the Winnowing paper. Returns how many fingerprints it wrote.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static uint64_t mix(uint64_t h) {
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}

size_t winnow(const uint8_t *text, size_t length, const uint8_t table[256], int k, int w,
              uint64_t *hashes, int64_t *positions) {
    const uint64_t base = 0x9e3779b97f4a7c15u;
    uint64_t top = 1, rolled = 0;
    uint64_t *ring = malloc(w * sizeof *ring);
    uint8_t *last = calloc(k, 1); /* the last k symbols, which are hashed */
    size_t found = 0;
    int64_t symbols = 0;
    int at = 0, oldest = 0, smallest = 0;
    for (int i = 0; i < k; i++) top *= base;
    for (int i = 0; i < w; i++) ring[i] = UINT64_MAX;
    for (size_t i = 0; i < length; i++) {
        uint8_t c = table[text[i]];
        if (!c) continue;
        rolled = rolled * base + c - top * last[oldest];
        last[oldest] = c;
        if (++oldest == k) oldest = 0;
        if (++symbols < k) continue;
        int64_t gram = symbols - k;
        if (++at == w) at = 0;
        ring[at] = mix(rolled);
        int chosen = 0;
        if (smallest == at) {
            for (int j = (at - 1 + w) % w; j != at; j = (j - 1 + w) % w)
                if (ring[j] < ring[smallest]) smallest = j;
            chosen = 1;
        } else if (ring[at] < ring[smallest]) { /* robust: an equal hash does not replace it */
            smallest = at;
            chosen = 1;
        }
        if (chosen && gram >= w - 1) {
            hashes[found] = ring[smallest];
            positions[found++] = gram - (at - smallest + w) % w;
        }
    }
    free(ring);
    free(last);
    return found;
}
