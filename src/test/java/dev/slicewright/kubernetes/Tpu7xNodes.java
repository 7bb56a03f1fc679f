package dev.slicewright.kubernetes;

import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/**
 * Nodes of TPU7x as GKE labels those that are provisioned for dynamic slicing. All keys are written
 * out here, so that a slip in the library's own constants shows.
 */
final class Tpu7xNodes {

  static final String BLOCK = "cloud.google.com/gce-topology-block";
  static final String SLICE = "cloud.google.com/gke-tpu-slice";
  static final String SLICE_TOPOLOGY = "cloud.google.com/gke-tpu-slice-topology";
  static final int NODES = 16;

  /** Shapes and how many nodes their partitions have. */
  static final Map<String, Integer> SHAPES =
      new TreeMap<>(Map.of("2x2x1", 1, "2x2x2", 2, "2x2x4", 4, "2x4x4", 8, "4x4x4", NODES));

  private Tpu7xNodes() {}

  /** The 16 nodes of a cube: each shape's partitions tile it, in order of nodes. */
  static List<Node> cube(String block, String cube) {
    List<Node> nodes = new ArrayList<>();
    for (int i = 0; i < NODES; i++) {
      Map<String, String> labels = new TreeMap<>();
      labels.put("cloud.google.com/gke-tpu-accelerator", "tpu7x");
      labels.put("cloud.google.com/gke-nodepool", "pool-" + cube);
      labels.put("cloud.google.com/gce-topology-block", block);
      labels.put("kubernetes.io/hostname", node(cube, i));
      for (Map.Entry<String, Integer> shape : SHAPES.entrySet()) {
        labels.put(idLabel(shape.getKey()), id(cube, shape.getKey(), i / shape.getValue()));
      }
      labels.put(stateLabel("4x4x4"), "HEALTHY");
      nodes.add(
          new NodeBuilder()
              .withNewMetadata()
              .withName(node(cube, i))
              .withLabels(labels)
              .endMetadata()
              .withNewSpec()
              .addNewTaint()
              .withKey("google.com/tpu")
              .withValue("present")
              .withEffect("NoSchedule")
              .endTaint()
              .endSpec()
              .withNewStatus()
              .addToAllocatable("google.com/tpu", new Quantity("4"))
              .addNewCondition()
              .withType("Ready")
              .withStatus("True")
              .endCondition()
              .endStatus()
              .build());
    }
    return nodes;
  }

  static String node(String cube, int index) {
    return "node-" + cube + "-" + (char) ('a' + index);
  }

  /** What a partition is called: hexadecimal digits that say nothing of where it is. */
  static String id(String cube, String shape, int index) {
    String text = cube + "/" + shape + "/" + index;
    return UUID.nameUUIDFromBytes(text.getBytes(StandardCharsets.UTF_8))
        .toString()
        .replace("-", "");
  }

  static String id(String cube) {
    return id(cube, "4x4x4", 0);
  }

  static String idLabel(String shape) {
    return "cloud.google.com/gke-tpu-partition-" + shape + "-id";
  }

  static String stateLabel(String shape) {
    return "cloud.google.com/gke-tpu-partition-" + shape + "-state";
  }
}
