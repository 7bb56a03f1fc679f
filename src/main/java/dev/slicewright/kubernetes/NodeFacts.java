package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeCondition;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Taint;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What is kept of one TPU node: where its labels say that it is, and how it is. Immutable, safe to
 * share.
 *
 * <p>The two are apart because the first decides pods, hosts and partitions and hardly ever
 * changes, while the second changes all day.
 *
 * @param name the node's name
 * @param layout where it is; null if its labels do not say
 * @param status how it is
 * @param ids of a node without a layout what can still be read of it: labels of its pool and of the
 *     ids of partitions
 * @param slice the Slice that it is labelled with; empty if none
 * @param sliceTopology the topology of that Slice; empty if none
 * @param problems what is wrong with this node alone
 */
record NodeFacts(
    String name,
    @Nullable Layout layout,
    Status status,
    Map<String, String> ids,
    String slice,
    String sliceTopology,
    List<Problem> problems) {

  /**
   * A partition that a node lies in.
   *
   * @param shape its shape, sorted
   * @param label the label that says so
   * @param id the platform's id
   */
  record Tag(Shape shape, String label, String id) {}

  /**
   * Where a node is.
   *
   * @param type its accelerator
   * @param chips its chips
   * @param domain the id of the domain that it belongs to
   * @param dynamic whether Slices take it by its partitions
   * @param topology of its static pool
   * @param tags its partitions, the largest first; no two of one size
   * @param labels all other labels but those that come and go with a Slice
   */
  record Layout(
      AcceleratorType type,
      int chips,
      String domain,
      boolean dynamic,
      @Nullable Shape topology,
      List<Tag> tags,
      Map<String, String> labels) {

    @Nullable Tag tag(Shape shape) {
      for (Tag tag : tags) {
        if (tag.shape().equals(shape)) {
          return tag;
        }
      }
      return null;
    }
  }

  /** A taint that keeps pods away. */
  record KeepOff(String key, String value, String effect) {
    Taint taint() {
      Taint taint = new Taint();
      taint.setKey(key);
      taint.setValue(value.isEmpty() ? null : value);
      taint.setEffect(effect);
      return taint;
    }
  }

  /**
   * How a node is.
   *
   * @param working whether it is ready, reachable, and has all its chips
   * @param cordoned whether nothing new may start on it
   * @param taints others that keep pods away; those of TPUs and of Kubernetes itself left out
   * @param states the state of each of its partitions that has one, by sorted shape
   * @param sound whether every state is healthy
   */
  record Status(
      boolean working,
      boolean cordoned,
      List<KeepOff> taints,
      Map<Shape, String> states,
      boolean sound) {}

  static final String HEALTHY = "HEALTHY";

  private static final String KUBERNETES = "node.kubernetes.io/";
  private static final Set<String> GONE =
      Set.of(KUBERNETES + "not-ready", KUBERNETES + "unreachable");
  private static final Set<String> KEEP_OFF = Set.of("NoSchedule", "NoExecute");
  private static final Map<String, AcceleratorType> ACCELERATORS = accelerators();
  private static final List<Shape> IN_CUBE =
      List.of(Shape.of(1, 2, 2), Shape.of(2, 2, 2), Shape.of(2, 2, 4), Shape.of(2, 4, 4));

  private static Map<String, AcceleratorType> accelerators() {
    Map<String, AcceleratorType> known = new TreeMap<>();
    for (AcceleratorType type : AcceleratorType.known()) {
      type.gkeAccelerator().ifPresent(label -> known.put(label, type));
    }
    known.put("tpu7", AcceleratorType.TPU7X); // as xpk writes it
    known.put("tpu-v5-lite-device", AcceleratorType.V5E); // single hosts
    return known;
  }

  /** Whether both are labelled with the same Slice, or with none. */
  boolean isTakenAs(@Nullable NodeFacts other) {
    return other != null && slice.equals(other.slice) && sliceTopology.equals(other.sliceTopology);
  }

  /** A node with nothing but its name and the labels of its Slice. */
  Node sliceLabels() {
    ObjectMeta metadata = new ObjectMeta();
    metadata.setName(name);
    Map<String, String> labels = new TreeMap<>();
    labels.put(TpuLabels.SLICE, slice);
    if (!sliceTopology.isEmpty()) {
      labels.put(TpuLabels.SLICE_TOPOLOGY, sliceTopology);
    }
    metadata.setLabels(labels);
    Node node = new Node();
    node.setMetadata(metadata);
    return node;
  }

  ObjectRef ref() {
    return ref(name);
  }

  static ObjectRef ref(String name) {
    return new ObjectRef("v1", "Node", "", name);
  }

  /** A node of which nothing can be read. */
  static NodeFacts unreadable(String name) {
    Status status = new Status(false, false, List.of(), Map.of(), true);
    Problem problem =
        new Problem(
            ref(name).path(),
            "expected an object with the fields of a Node, but some have other types; mend them");
    return new NodeFacts(name, null, status, Map.of(), "", "", List.of(problem));
  }

  /** The path of a label in problems. */
  static String path(String node, String label) {
    return "Node/" + node + ".metadata.labels[" + label + "]";
  }

  /** Reads nodes; equal texts of many nodes are kept once. Confined to one thread at a time. */
  static final class Reader {
    private final Map<Object, Object> kept = new HashMap<>();
    private final Map<String, @Nullable Shape> shapes = new HashMap<>();

    @SuppressWarnings("unchecked")
    private <T> T once(T value) {
      Object known = kept.putIfAbsent(value, value);
      return known == null ? value : (T) known;
    }

    /** The shape in a label of partitions, sorted; null if there is none. */
    @Nullable Shape shapeOf(String key, String prefix, String suffix) {
      Shape shape = shapes.get(key);
      if (shape == null && !shapes.containsKey(key)) {
        shape = parse(key, prefix, suffix);
        shapes.put(key, shape);
      }
      return shape;
    }

    private static @Nullable Shape parse(String key, String prefix, String suffix) {
      if (key.length() <= prefix.length() + suffix.length()) {
        return null;
      }
      String text = key.substring(prefix.length(), key.length() - suffix.length());
      try {
        return Shape.parse(text).sorted();
      } catch (InvalidInputException e) {
        return null;
      }
    }

    /** The facts of a node; empty if it has nothing to do with TPUs. */
    Optional<NodeFacts> read(Node node) {
      ObjectMeta metadata = node.getMetadata();
      String name = metadata == null ? "" : Objects.requireNonNullElse(metadata.getName(), "");
      return new One(this, node, name, Generic.labels(node)).read();
    }
  }

  /** One node while it is read. */
  private static final class One {
    private final Reader reader;
    private final Node node;
    private final String name;
    private final Map<String, String> labels;
    private final List<Problem> problems = new ArrayList<>();

    One(Reader reader, Node node, String name, Map<String, String> labels) {
      this.reader = reader;
      this.node = node;
      this.name = name;
      this.labels = labels;
    }

    Optional<NodeFacts> read() {
      String accelerator = labels.get(TpuLabels.ACCELERATOR);
      Map<String, Quantity> allocatable = null;
      Map<String, Quantity> capacity = null;
      if (node.getStatus() != null) {
        allocatable = node.getStatus().getAllocatable();
        capacity = node.getStatus().getCapacity();
      }
      if (accelerator == null && !offers(allocatable) && !offers(capacity) && !isPartitioned()) {
        return Optional.empty();
      }
      Layout layout = null;
      int usable = chips("allocatable", allocatable);
      int built = chips("capacity", capacity);
      if (name.isEmpty()) {
        problem(".metadata.name", "expected a name, but there is none; name the node");
      } else if (accelerator == null) {
        problem(
            label(TpuLabels.ACCELERATOR),
            "expected the accelerator of a node with TPUs, such as tpu7x, but there is none; set"
                + " the label");
      } else if (!ACCELERATORS.containsKey(accelerator)) {
        problem(
            label(TpuLabels.ACCELERATOR),
            "expected one of "
                + String.join(", ", ACCELERATORS.keySet())
                + ", but was "
                + accelerator
                + "; no pod of the fleet can be made of such nodes");
      } else {
        AcceleratorType type = Objects.requireNonNull(ACCELERATORS.get(accelerator));
        layout = layout(type, built > 0 ? built : usable);
      }
      boolean whole = layout == null || usable < 0 || usable >= layout.chips();
      return Optional.of(
          new NodeFacts(
              name,
              layout,
              status(whole),
              layout == null ? ids() : Map.of(),
              reader.once(labels.getOrDefault(TpuLabels.SLICE, "")),
              reader.once(labels.getOrDefault(TpuLabels.SLICE_TOPOLOGY, "")),
              List.copyOf(problems)));
    }

    private static boolean offers(@Nullable Map<String, Quantity> resources) {
      return resources != null && resources.containsKey(TpuLabels.TPU);
    }

    private boolean isPartitioned() {
      return labels.keySet().stream().anyMatch(key -> key.startsWith(TpuLabels.PARTITION_PREFIX));
    }

    /** Chips of a list of resources; -1 if it does not say. */
    private int chips(String field, @Nullable Map<String, Quantity> resources) {
      if (!offers(resources)) {
        return -1;
      }
      Quantity quantity = Objects.requireNonNull(resources).get(TpuLabels.TPU);
      String amount = quantity == null ? null : quantity.getAmount();
      String format = quantity == null ? null : quantity.getFormat();
      boolean plain =
          amount != null
              && (format == null || format.isEmpty())
              && amount.length() <= 3
              && !amount.isEmpty()
              && amount.chars().allMatch(c -> c >= '0' && c <= '9');
      if (!plain) {
        problem(
            ".status." + field + "[" + TpuLabels.TPU + "]",
            "expected a whole number of chips, but was "
                + (amount == null ? "nothing" : amount + (format == null ? "" : format))
                + "; the accelerator's usual number is taken");
        return -1;
      }
      return Integer.parseInt(Objects.requireNonNull(amount));
    }

    // -------------------------------------------------------------- layout

    private @Nullable Layout layout(AcceleratorType type, int counted) {
      Shape topology = topology(type);
      int chips = counted > 0 ? counted : usualChips(type, topology);
      if (HostTiles.of(type, chips).isEmpty()) {
        problem(
            ".status.allocatable[" + TpuLabels.TPU + "]",
            "expected "
                + HostTiles.choices(type)
                + " chips on a host of "
                + type
                + ", but was "
                + chips
                + "; the node is left out");
        return null;
      }
      if (topology == null && labels.containsKey(TpuLabels.TOPOLOGY) && !isTaken()) {
        return null;
      }
      boolean cubes = type.equals(AcceleratorType.TPU7X);
      List<Tag> tags = tags(type, cubes);
      boolean inCube = cubes && !tags.isEmpty() && tags.get(0).shape().equals(SlicePlaces.CUBE);
      boolean dynamic = inCube && (topology == null || isTaken());
      String domain;
      if (dynamic) {
        topology = null;
        String block = need(TpuLabels.BLOCK, "the reservation block, which no slice may leave");
        domain = block == null ? null : "block/" + block;
      } else if (topology == null) {
        domain = type.rank() == 2 && !tags.isEmpty() ? "partition/" + tags.get(0).id() : null;
        String cube = TpuLabels.PARTITION_PREFIX + SlicePlaces.CUBE + TpuLabels.ID_SUFFIX;
        if (domain == null && !cubes && labels.containsKey(cube)) {
          problem(
              label(TpuLabels.ACCELERATOR),
              "expected "
                  + AcceleratorType.TPU7X.gkeAccelerator().orElseThrow()
                  + ", since the node is in a cube by its label "
                  + cube
                  + ", but was "
                  + labels.get(TpuLabels.ACCELERATOR)
                  + "; mend the label");
        } else if (domain == null) {
          problem(
              label(TpuLabels.TOPOLOGY),
              "expected the topology of the node's pool"
                  + (cubes ? ", or the id of its cube in " + cube : "")
                  + ", but there is none; set the label");
        }
      } else if (topology.chips() < chips) {
        problem(
            label(TpuLabels.TOPOLOGY),
            "expected a topology of at least the node's "
                + chips
                + " chips, but was "
                + topology
                + "; mend the label or the node's allocatable "
                + TpuLabels.TPU);
        domain = null;
      } else if (topology.chips() == chips) {
        domain = "node/" + name;
        tags = List.of();
      } else {
        String pool = need(TpuLabels.NODE_POOL, "the node pool, which is one slice");
        domain = pool == null ? null : "nodepool/" + pool;
        tags = type.rank() == 2 ? inside(tags, topology) : List.of();
      }
      if (domain == null) {
        return null;
      }
      int host = chips;
      tags = tags.stream().filter(tag -> tag.shape().chips() >= host).toList();
      return new Layout(
          type, chips, reader.once(domain), dynamic, topology, tags, otherLabels(dynamic));
    }

    /**
     * The chips of a node that does not say: the accelerator's usual, unless its pool has fewer.
     */
    private static int usualChips(AcceleratorType type, @Nullable Shape topology) {
      int usual = (int) type.hostTile().chips();
      return topology == null ? usual : (int) Math.min(usual, topology.chips());
    }

    private boolean isTaken() {
      return labels.containsKey(TpuLabels.SLICE);
    }

    private @Nullable String need(String key, String what) {
      String value = labels.get(key);
      if (value == null || value.isEmpty()) {
        problem(label(key), "expected " + what + ", but there is none; set the label");
        return null;
      }
      return value;
    }

    private @Nullable Shape topology(AcceleratorType type) {
      String text = labels.get(TpuLabels.TOPOLOGY);
      if (text == null) {
        return null;
      }
      Shape shape = null;
      try {
        shape = Shape.parse(text).sorted();
      } catch (InvalidInputException e) {
        problem(label(TpuLabels.TOPOLOGY), e.problems().get(0).message());
        return null;
      }
      if (shape.rank() != type.rank() || !isKnown(type, shape)) {
        problem(
            label(TpuLabels.TOPOLOGY),
            "expected a topology that "
                + type
                + " has, but was "
                + text
                + "; mend the label or the accelerator's");
        return null;
      }
      return reader.once(shape);
    }

    private static boolean isKnown(AcceleratorType type, Shape sorted) {
      return type.rank() == 2
          ? type.boxes().shapes().contains(sorted)
          : IN_CUBE.contains(sorted)
              || SlicePlaces.isWholeCubes(sorted) && sorted.chips() <= type.podDims().chips();
    }

    /** The ids of partitions, the largest first. */
    private List<Tag> tags(AcceleratorType type, boolean cubes) {
      String prefix = cubes ? TpuLabels.PARTITION_PREFIX : TpuLabels.SUBSLICE_PREFIX;
      if (!cubes && type.rank() == 3) {
        return List.of(); // v4 and v5p pools are not sliced further
      }
      Map<Long, Tag> found = new TreeMap<>(Collections.reverseOrder());
      Map<String, String> ordered = new TreeMap<>();
      labels.forEach(
          (key, value) -> {
            if (key.startsWith(prefix) && key.endsWith(TpuLabels.ID_SUFFIX)) {
              ordered.put(key, value);
            }
          });
      ordered.forEach(
          (key, id) -> {
            Shape shape = reader.shapeOf(key, prefix, TpuLabels.ID_SUFFIX);
            if (shape == null) {
              problem(
                  label(key),
                  "expected a shape such as "
                      + (cubes ? "2x2x4" : "4x8")
                      + " in the label; it is ignored");
            } else if (shape.rank() != type.rank()
                || cubes && shape.chips() > SlicePlaces.CUBE.chips()) {
              return; // of another generation, or of more than one cube
            } else if (!isKnown(type, shape)) {
              problem(
                  label(key),
                  "expected a shape that partitions of " + type + " have; the label is ignored");
            } else if (id.isEmpty()) {
              problem(label(key), "expected the id of a partition, but it is empty; set the label");
            } else {
              Tag tag = new Tag(reader.once(shape), reader.once(key), reader.once(id));
              Tag other = found.putIfAbsent(shape.chips(), reader.once(tag));
              if (other != null && !other.id().equals(id)) {
                problem(
                    label(key),
                    "expected one partition of this size, but "
                        + other.label()
                        + " is "
                        + other.id()
                        + " and this is "
                        + id
                        + "; the first is taken");
              }
            }
          });
      return List.copyOf(found.values());
    }

    /** Those that are smaller than the pool; one that is as large is the pool itself. */
    private static List<Tag> inside(List<Tag> tags, Shape pool) {
      return tags.stream()
          .filter(tag -> tag.shape().y() <= pool.y() && tag.shape().x() <= pool.x())
          .toList();
    }

    private Map<String, String> ids() {
      Map<String, String> ids = new TreeMap<>();
      labels.forEach(
          (key, value) -> {
            boolean partition =
                key.startsWith(TpuLabels.PARTITION_PREFIX)
                    || key.startsWith(TpuLabels.SUBSLICE_PREFIX);
            if (partition && key.endsWith(TpuLabels.ID_SUFFIX) || key.equals(TpuLabels.NODE_POOL)) {
              ids.put(key, value);
            }
          });
      return Collections.unmodifiableMap(ids);
    }

    private Map<String, String> otherLabels(boolean dynamic) {
      TreeMap<String, String> others = new TreeMap<>();
      labels.forEach(
          (key, value) -> {
            boolean comes =
                key.startsWith(TpuLabels.PARTITION_PREFIX)
                    || key.startsWith(TpuLabels.SUBSLICE_PREFIX)
                    || key.equals(TpuLabels.SLICE)
                    || dynamic && key.equals(TpuLabels.TOPOLOGY);
            if (!comes) {
              others.put(reader.once(key), reader.once(value));
            }
          });
      return Collections.unmodifiableMap(others);
    }

    // -------------------------------------------------------------- status

    private Status status(boolean whole) {
      boolean working = whole && isReady();
      boolean cordoned =
          node.getSpec() != null && Boolean.TRUE.equals(node.getSpec().getUnschedulable())
              || node.getMetadata() != null && node.getMetadata().getDeletionTimestamp() != null;
      List<KeepOff> taints = new ArrayList<>();
      for (Taint taint : taints()) {
        if (taint == null || taint.getKey() == null) {
          continue;
        }
        if (GONE.contains(taint.getKey())) {
          working = false;
        } else if (taint.getEffect() == null
            || !KEEP_OFF.contains(taint.getEffect())
            || taint.getKey().equals(TpuLabels.TPU)) {
          continue;
        } else if (taint.getKey().startsWith(KUBERNETES)) {
          cordoned = true;
        } else {
          taints.add(
              reader.once(
                  new KeepOff(
                      taint.getKey(),
                      Objects.requireNonNullElse(taint.getValue(), ""),
                      taint.getEffect())));
        }
      }
      Map<Shape, String> states = states();
      boolean sound = states.values().stream().allMatch(HEALTHY::equals);
      return reader.once(new Status(working, cordoned, List.copyOf(taints), states, sound));
    }

    private List<Taint> taints() {
      List<Taint> taints = node.getSpec() == null ? null : node.getSpec().getTaints();
      return taints == null ? List.of() : taints;
    }

    /** A node that says nothing about it is ready. */
    private boolean isReady() {
      List<NodeCondition> conditions =
          node.getStatus() == null ? null : node.getStatus().getConditions();
      if (conditions == null) {
        return true;
      }
      for (NodeCondition condition : conditions) {
        if (condition != null && "Ready".equals(condition.getType())) {
          return "True".equals(condition.getStatus());
        }
      }
      return true;
    }

    private Map<Shape, String> states() {
      Map<Shape, String> states = new TreeMap<>();
      labels.forEach(
          (key, value) -> {
            boolean partition = key.startsWith(TpuLabels.PARTITION_PREFIX);
            if (key.endsWith(TpuLabels.STATE_SUFFIX)
                && (partition || key.startsWith(TpuLabels.SUBSLICE_PREFIX))) {
              Shape shape =
                  reader.shapeOf(
                      key,
                      partition ? TpuLabels.PARTITION_PREFIX : TpuLabels.SUBSLICE_PREFIX,
                      TpuLabels.STATE_SUFFIX);
              if (shape != null) {
                // Of two spellings of one shape the worse holds.
                states.merge(
                    shape,
                    reader.once(value),
                    (a, b) -> NodeHealth.WORSE.compare(a, b) < 0 ? b : a);
              }
            }
          });
      return reader.once(Collections.unmodifiableMap(states));
    }

    // -------------------------------------------------------------- problems

    private String label(String key) {
      return ".metadata.labels[" + key + "]";
    }

    private void problem(String field, String message) {
      problems.add(new Problem("Node/" + name + field, message));
    }
  }
}
