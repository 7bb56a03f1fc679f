package dev.slicewright.slurm;

import dev.slicewright.topology.Chip;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * What Slurm's plugin would allow, written anew from topology.yaml(5) and the rules of the plugin:
 * sets of node names, no boxes, no gcd.
 */
final class SlurmOracle {

  private SlurmOracle() {}

  /** The anchors of a size, each as its set of nodes; those with an unmapped cell are skipped. */
  static Set<Set<String>> anchors(List<SlurmTorus> toruses, int size) {
    Set<Set<String>> anchors = new LinkedHashSet<>();
    for (SlurmTorus torus : toruses) {
      for (TorusPlacement p : torus.placements()) {
        if (p.dims().x() * p.dims().y() * p.dims().z() == size) {
          anchors(torus, p, anchors);
        }
      }
    }
    return anchors;
  }

  private static void anchors(SlurmTorus torus, TorusPlacement p, Set<Set<String>> out) {
    int nx = torus.dims().x();
    int ny = torus.dims().y();
    int nz = torus.dims().z();
    Chip seed = p.seed();
    for (int ax : steps(seed.x(), p.spacing().x(), nx)) {
      for (int ay : steps(seed.y(), p.spacing().y(), ny)) {
        for (int az : steps(seed.z(), p.spacing().z(), nz)) {
          Set<String> nodes = new LinkedHashSet<>();
          boolean whole = true;
          for (int x = 0; x < p.dims().x(); x++) {
            for (int y = 0; y < p.dims().y(); y++) {
              for (int z = 0; z < p.dims().z(); z++) {
                int cell = (ax + x) % nx + nx * ((ay + y) % ny) + nx * ny * ((az + z) % nz);
                whole &= !torus.nodes().get(cell).isEmpty();
                nodes.add(torus.nodes().get(cell));
              }
            }
          }
          if (whole) {
            out.add(nodes);
          }
        }
      }
    }
  }

  private static List<Integer> steps(int seed, int spacing, int length) {
    List<Integer> found = new ArrayList<>();
    int at = seed;
    do {
      found.add(at);
      at = (at + spacing) % length;
    } while (at != seed);
    return found;
  }
}
