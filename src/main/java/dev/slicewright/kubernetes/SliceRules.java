package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import dev.slicewright.Problems;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The published rules for a Slice of GKE's dynamic slicing. Immutable, safe to share.
 *
 * <p>Written from the documentation of the resource and the plain labels of nodes, and on purpose
 * from nothing that this library reads or writes with: it can contradict {@link ClusterReader} and
 * {@link ClusterPlan}.
 *
 * <p>Sources: the reference of the Slice resource ({@code slices.accelerator.gke.io}: name, type,
 * topology, number of partitions), GKE's notes on monitoring dynamic slices (prerequisites of a
 * Slice: its nodes are there, in one reservation block, in no other Slice), the types of the
 * open-source tpu-slice controller (sub-slices, immutable fields), and Kubernetes' limits of names,
 * labels and annotations. Where the documentation is silent, such as on further states of a
 * partition, what it does not name as usable is not.
 */
public final class SliceRules {

  private static final String API_VERSION = "accelerator.gke.io/v1beta1";
  private static final String KIND = "Slice";
  private static final String TYPE = "tpu7x";
  private static final int MAX_NAME = 49;
  private static final Pattern NAME = Pattern.compile("[a-z]([-a-z0-9]*[a-z0-9])?");
  private static final Pattern TOPOLOGY =
      Pattern.compile("([1-9][0-9]{0,8})x([1-9][0-9]{0,8})x([1-9][0-9]{0,8})");
  private static final long MAX_CHIPS = 9_216;
  private static final String CUBE = "4x4x4";
  private static final long CUBE_CHIPS = 64;
  private static final long NODE_CHIPS = 4;

  /** What is smaller than a cube, with its chips: one partition each. */
  private static final Map<String, Long> SUB_SLICES =
      Map.of("2x2x1", 4L, "2x2x2", 8L, "2x2x4", 16L, "2x4x4", 32L);

  private static final Set<String> SPEC_FIELDS = Set.of("type", "topology", "partitionIds");
  private static final Set<String> TOP_FIELDS = Set.of("spec", "status");
  private static final Set<String> USABLE = Set.of("HEALTHY", "DEGRADED");

  /** Reasons of the condition Ready of a Slice that has no nodes. */
  private static final Set<String> WITHOUT_NODES = Set.of("SliceCreationFailed", "FAILED");

  private static final int MAX_LABEL = 63;
  private static final int MAX_PREFIX = 253;
  private static final int MAX_ANNOTATIONS = 256 * 1024; // bytes, of all keys and values
  private static final Pattern LABEL = Pattern.compile("[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?");
  private static final Pattern PREFIX =
      Pattern.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");
  private static final int MAX_SHOWN = 80;

  private SliceRules() {}

  /**
   * Checks one object as the platform does when it is created, before it looks at any node.
   *
   * @param slice any object; nothing in it has to be there
   * @return every problem; empty if it keeps the rules
   */
  public static List<Problem> check(GenericKubernetesResource slice) {
    Problems problems = new Problems();
    String path = path(slice);
    if (!API_VERSION.equals(slice.getApiVersion())) {
      problems.add(
          path + ".apiVersion",
          "expected " + API_VERSION + ", was " + shown(slice.getApiVersion()));
    }
    if (!KIND.equals(slice.getKind())) {
      problems.add(path + ".kind", "expected " + KIND + ", was " + shown(slice.getKind()));
    }
    checkFields(fields(slice), TOP_FIELDS, path, problems);
    checkMetadata(slice.getMetadata(), path + ".metadata", problems);
    checkSpec(slice, path + ".spec", problems);
    return problems.list();
  }

  /**
   * Checks a change: the new object as {@link #check} does, and that its spec is the old one. All
   * fields of the spec are immutable; to change a Slice is to delete it and to create another.
   *
   * @param before the object as it is
   * @param after the object as it is to be
   * @return every problem; empty if the change is legal
   */
  public static List<Problem> checkUpdate(
      GenericKubernetesResource before, GenericKubernetesResource after) {
    Problems problems = new Problems();
    for (Problem problem : check(after)) {
      problems.add(problem.path(), problem.message());
    }
    String path = path(after);
    if (!path(before).equals(path)) {
      problems.add(
          path + ".metadata.name",
          "expected the object that is changed, " + path(before) + "; create another instead");
    }
    Map<?, ?> was = spec(before);
    Map<?, ?> is = spec(after);
    for (String field : new TreeSet<>(SPEC_FIELDS)) {
      if (!Objects.equals(was.get(field), is.get(field))) {
        problems.add(
            path + ".spec." + field,
            "is immutable: was "
                + shown(was.get(field))
                + ", is to be "
                + shown(is.get(field))
                + "; delete the Slice and create another");
      }
    }
    return problems.list();
  }

  /**
   * Checks one object as {@link #check} does and, where that finds nothing, what the platform asks
   * of the cluster before it forms a Slice: each partition is there with all its nodes and usable,
   * all in one reservation block, and none of the nodes is in another Slice.
   *
   * <p>O(nodes + partition ids of all slices), nodes times the number of shapes in use at worst.
   *
   * @param slice the object
   * @param nodes nodes of the cluster; those without TPUs do not matter
   * @param existing the Slices of the cluster. One of the same name is passed over, and so are
   *     those that have failed. All others take their nodes, whatever the nodes' labels say so far
   * @return every problem; empty if the platform would form it
   */
  public static List<Problem> checkAgainst(
      GenericKubernetesResource slice,
      Collection<Node> nodes,
      Collection<GenericKubernetesResource> existing) {
    List<Problem> own = check(slice);
    if (!own.isEmpty()) {
      return own;
    }
    String path = path(slice);
    Partitions partitions = new Partitions(nodes);
    Problems problems = new Problems();
    List<Node> taken = checkPartitions(slice, partitions, path, problems);
    checkBlock(taken, path, problems);
    checkFree(slice, taken, path, problems);
    checkOverlap(slice, taken, existing, partitions, problems);
    return problems.list();
  }

  // ---- one object

  private static void checkMetadata(@Nullable ObjectMeta metadata, String path, Problems problems) {
    String name = metadata == null ? null : metadata.getName();
    if (name == null || name.length() > MAX_NAME || !NAME.matcher(name).matches()) {
      problems.add(
          path + ".name",
          "expected a lowercase letter, then lowercase letters, digits and '-', not ending in '-',"
              + " at most "
              + MAX_NAME
              + " characters, was "
              + shown(name)
              + (name == null ? "" : " of " + name.length()));
    }
    if (metadata == null) {
      return;
    }
    if (metadata.getNamespace() != null) {
      problems.add(
          path + ".namespace",
          "expected none, since Slices are of the whole cluster, was "
              + shown(metadata.getNamespace()));
    }
    Map<String, String> labels = sorted(metadata.getLabels());
    labels.forEach(
        (key, value) -> {
          checkKey(key, path + ".labels", problems);
          if (!value.isEmpty() && !isLabel(value)) {
            problems.add(
                path + ".labels[" + cut(key) + "]", expectedLabel("a value", " or nothing", value));
          }
        });
    Map<String, String> annotations = sorted(metadata.getAnnotations());
    long bytes = 0;
    for (Map.Entry<String, String> entry : annotations.entrySet()) {
      checkKey(entry.getKey(), path + ".annotations", problems);
      bytes += bytes(entry.getKey()) + bytes(entry.getValue());
    }
    if (bytes > MAX_ANNOTATIONS) {
      problems.add(
          path + ".annotations",
          "expected at most " + MAX_ANNOTATIONS + " bytes of keys and values, was " + bytes);
    }
  }

  /** Keys of labels and of annotations: an optional DNS name and a slash, and a name. */
  private static void checkKey(String key, String path, Problems problems) {
    int slash = key.indexOf('/');
    String prefix = slash < 0 ? null : key.substring(0, slash);
    boolean legal =
        isLabel(key.substring(slash + 1))
            && (prefix == null
                || prefix.length() <= MAX_PREFIX && PREFIX.matcher(prefix).matches());
    if (!legal) {
      problems.add(
          path + "[" + cut(key) + "]",
          expectedLabel("a key", ", behind an optional DNS name and '/'", key));
    }
  }

  private static String expectedLabel(String what, String more, String value) {
    return "expected "
        + what
        + " of at most "
        + MAX_LABEL
        + " letters, digits, '-', '_' and '.' that begins and ends with a letter or digit"
        + more
        + ", was "
        + shown(value);
  }

  private static boolean isLabel(String text) {
    return text.length() <= MAX_LABEL && LABEL.matcher(text).matches();
  }

  private static void checkSpec(GenericKubernetesResource slice, String path, Problems problems) {
    Object given = fields(slice).get("spec");
    if (!(given instanceof Map<?, ?> spec)) {
      problems.add(
          path, "expected an object with type, topology and partitionIds, was " + shown(given));
      return;
    }
    checkFields(spec, SPEC_FIELDS, path, problems);
    if (!TYPE.equals(spec.get("type"))) {
      problems.add(path + ".type", "expected " + TYPE + ", was " + shown(spec.get("type")));
    }
    long chips = checkTopology(spec.get("topology"), path + ".topology", problems);
    checkIds(spec.get("partitionIds"), chips, path + ".partitionIds", problems);
  }

  private static void checkFields(
      Map<?, ?> fields, Set<String> known, String path, Problems problems) {
    Set<String> unknown = new TreeSet<>();
    for (Object field : fields.keySet()) {
      if (!(field instanceof String name) || !known.contains(name)) {
        unknown.add(String.valueOf(field));
      }
    }
    for (String field : unknown) {
      problems.add(
          path + "." + cut(field),
          "is no field of a Slice; expected " + String.join(", ", new TreeSet<>(known)));
    }
  }

  /** Returns the chips, or 0 if the topology is wrong. */
  private static long checkTopology(@Nullable Object given, String path, Problems problems) {
    if (given instanceof String text && SUB_SLICES.containsKey(text)) {
      return SUB_SLICES.get(text);
    }
    Matcher match = TOPOLOGY.matcher(given instanceof String text ? text : "");
    if (!match.matches()) {
      problems.add(path, "expected three whole numbers such as 4x4x8, sorted, was " + shown(given));
      return 0;
    }
    long a = Long.parseLong(match.group(1));
    long b = Long.parseLong(match.group(2));
    long c = Long.parseLong(match.group(3));
    boolean legal = true;
    if (a % 4 != 0 || b % 4 != 0 || c % 4 != 0) {
      problems.add(
          path,
          "expected multiples of 4, or one of "
              + String.join(", ", new TreeSet<>(SUB_SLICES.keySet()))
              + ", was "
              + shown(given));
      legal = false;
    }
    if (a > b || b > c) {
      problems.add(path, "expected extents that do not decrease, was " + shown(given));
      legal = false;
    }
    // Bounded first: the product of what is left fits.
    if (a > MAX_CHIPS || b > MAX_CHIPS || c > MAX_CHIPS || a * b * c > MAX_CHIPS) {
      problems.add(path, "expected at most " + MAX_CHIPS + " chips, was " + shown(given));
      legal = false;
    }
    return legal ? a * b * c : 0;
  }

  private static void checkIds(@Nullable Object given, long chips, String path, Problems problems) {
    if (!(given instanceof List<?> ids) || ids.isEmpty()) {
      problems.add(path, "expected a list of one id or more, was " + shown(given));
      return;
    }
    Set<Object> seen = new HashSet<>();
    for (int i = 0; i < ids.size(); i++) {
      Object id = ids.get(i);
      String at = path + "[" + i + "]";
      if (!(id instanceof String text) || !isLabel(text)) {
        problems.add(
            at, "expected the id of a partition as a label of nodes has it, was " + shown(id));
      } else if (!seen.add(text)) {
        problems.add(at, "expected each partition once, was " + shown(id) + " again");
      }
    }
    long expected = Math.max(1, chips / CUBE_CHIPS);
    if (chips > 0 && ids.size() != expected) {
      problems.add(
          path,
          "expected "
              + expected
              + (chips < CUBE_CHIPS
                  ? " id, since a slice below a cube is one partition"
                  : " ids, one for each " + CUBE_CHIPS + " of " + chips + " chips")
              + ", was "
              + ids.size());
    }
  }

  // ---- an object and its cluster

  /** Nodes by the ids of their partitions, one shape at a time. */
  private static final class Partitions {
    private final Collection<Node> nodes;
    private final Map<String, Map<String, List<Node>>> byShape = new HashMap<>();

    Partitions(Collection<Node> nodes) {
      this.nodes = nodes;
    }

    List<Node> of(String shape, Object id) {
      return byShape.computeIfAbsent(shape, this::index).getOrDefault(id, List.of());
    }

    private Map<String, List<Node>> index(String shape) {
      Map<String, List<Node>> byId = new HashMap<>();
      for (Node node : nodes) {
        String id = label(node, TpuLabels.PARTITION_PREFIX + shape + TpuLabels.ID_SUFFIX);
        if (id != null) {
          byId.computeIfAbsent(id, unused -> new ArrayList<>()).add(node);
        }
      }
      return byId;
    }
  }

  private static List<Node> checkPartitions(
      GenericKubernetesResource slice, Partitions partitions, String path, Problems problems) {
    String shape = partitionShape(slice);
    long expected = SUB_SLICES.getOrDefault(shape, CUBE_CHIPS) / NODE_CHIPS;
    List<Node> taken = new ArrayList<>();
    List<?> ids = ids(slice);
    for (int i = 0; i < ids.size(); i++) {
      String at = path + ".spec.partitionIds[" + i + "]";
      List<Node> nodes = partitions.of(shape, ids.get(i));
      if (nodes.size() != expected) {
        problems.add(
            at,
            "expected a partition "
                + shape
                + " of "
                + expected
                + " nodes, but "
                + nodes.size()
                + " have "
                + shown(ids.get(i))
                + " in their label "
                + TpuLabels.PARTITION_PREFIX
                + shape
                + TpuLabels.ID_SUFFIX);
      }
      checkUse(nodes, shape, at, problems);
      taken.addAll(nodes);
    }
    return taken;
  }

  /** Names the first node of each fault, since all nodes of a partition are likely to have it. */
  private static void checkUse(List<Node> nodes, String shape, String at, Problems problems) {
    for (Node node : nodes) {
      String accelerator = label(node, TpuLabels.ACCELERATOR);
      if (!TYPE.equals(accelerator)) {
        problems.add(
            at, "expected nodes of " + TYPE + ", but " + name(node) + " is " + shown(accelerator));
        break;
      }
    }
    for (Node node : nodes) {
      String state = label(node, TpuLabels.PARTITION_PREFIX + shape + TpuLabels.STATE_SUFFIX);
      if (state != null && !USABLE.contains(state)) {
        problems.add(
            at,
            "expected a partition that is HEALTHY or DEGRADED, but its state on "
                + name(node)
                + " is "
                + shown(state));
        break;
      }
    }
  }

  private static void checkBlock(List<Node> taken, String path, Problems problems) {
    Map<String, String> nodeOf = new TreeMap<>();
    for (Node node : taken) {
      String block = label(node, TpuLabels.BLOCK);
      nodeOf.putIfAbsent(block == null ? "" : block, name(node));
    }
    if (nodeOf.containsKey("")) {
      problems.add(
          path + ".spec.partitionIds",
          "expected nodes with a label "
              + TpuLabels.BLOCK
              + ", but "
              + nodeOf.remove("")
              + " has none");
    }
    if (nodeOf.size() > 1) {
      problems.add(
          path + ".spec.partitionIds",
          "expected nodes of one reservation block, but they are of " + nodeOf.keySet());
    }
  }

  private static void checkFree(
      GenericKubernetesResource slice, List<Node> taken, String path, Problems problems) {
    Set<String> others = new TreeSet<>();
    for (Node node : taken) {
      String other = label(node, TpuLabels.SLICE);
      boolean free =
          other == null || other.isEmpty() || other.equals(slice.getMetadata().getName());
      if (!free && others.add(other)) {
        problems.add(
            path + ".spec.partitionIds",
            "expected nodes that are in no Slice, but " + name(node) + " is in " + shown(other));
      }
    }
  }

  private static void checkOverlap(
      GenericKubernetesResource slice,
      List<Node> taken,
      Collection<GenericKubernetesResource> existing,
      Partitions partitions,
      Problems problems) {
    Set<String> names = new HashSet<>();
    taken.forEach(node -> names.add(name(node)));
    for (GenericKubernetesResource other : existing) {
      if (path(other).equals(path(slice)) || WITHOUT_NODES.contains(readyReason(other))) {
        continue;
      }
      String shape = partitionShape(other);
      for (Object id : ids(other)) {
        // Nested partitions have other ids, so it is nodes that are compared.
        if (partitions.of(shape, id).stream().anyMatch(node -> names.contains(name(node)))) {
          problems.add(
              path(slice) + ".spec.partitionIds",
              "expected partitions that are free, but some nodes are also in partition "
                  + shown(id)
                  + " ("
                  + shape
                  + ") of "
                  + path(other));
        }
      }
    }
  }

  // ---- reading what may not be there

  private static Map<?, ?> fields(GenericKubernetesResource slice) {
    Map<String, Object> fields = slice.getAdditionalProperties();
    return fields == null ? Map.of() : fields;
  }

  private static Map<?, ?> spec(GenericKubernetesResource slice) {
    return fields(slice).get("spec") instanceof Map<?, ?> spec ? spec : Map.of();
  }

  /** The shape of its partitions: a cube, or its own topology below one. */
  private static String partitionShape(GenericKubernetesResource slice) {
    return spec(slice).get("topology") instanceof String text && SUB_SLICES.containsKey(text)
        ? text
        : CUBE;
  }

  private static List<?> ids(GenericKubernetesResource slice) {
    return spec(slice).get("partitionIds") instanceof List<?> ids ? ids : List.of();
  }

  /** The reason of the condition Ready; empty if there is none. */
  private static String readyReason(GenericKubernetesResource slice) {
    if (fields(slice).get("status") instanceof Map<?, ?> status
        && status.get("conditions") instanceof List<?> conditions) {
      for (Object condition : conditions) {
        if (condition instanceof Map<?, ?> fields
            && "Ready".equals(fields.get("type"))
            && fields.get("reason") instanceof String reason) {
          return reason;
        }
      }
    }
    return "";
  }

  private static String path(GenericKubernetesResource slice) {
    return ObjectRef.of(slice).path();
  }

  private static String name(Node node) {
    return ObjectRef.of(node).name();
  }

  private static @Nullable String label(Node node, String key) {
    ObjectMeta metadata = node.getMetadata();
    Map<String, String> labels = metadata == null ? null : metadata.getLabels();
    return labels == null ? null : labels.get(key);
  }

  private static Map<String, String> sorted(@Nullable Map<String, String> map) {
    Map<String, String> sorted = new TreeMap<>();
    if (map != null) {
      map.forEach((key, value) -> sorted.put(key == null ? "" : key, value == null ? "" : value));
    }
    return sorted;
  }

  private static long bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  private static String shown(@Nullable Object value) {
    if (value instanceof String text) {
      return '"' + cut(text) + '"';
    }
    if (value instanceof Collection<?> list) {
      return list.isEmpty() ? "an empty list" : "a list of " + list.size();
    }
    return value == null ? "nothing" : value instanceof Map ? "an object" : cut(value.toString());
  }

  private static String cut(String text) {
    return text.length() <= MAX_SHOWN ? text : text.substring(0, MAX_SHOWN) + "…";
  }
}
