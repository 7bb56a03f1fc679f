package dev.slicewright.kubernetes;

import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeCondition;
import io.fabric8.kubernetes.api.model.NodeSpec;
import io.fabric8.kubernetes.api.model.NodeStatus;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.PodStatus;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.ResourceRequirements;
import io.fabric8.kubernetes.api.model.Taint;
import io.fabric8.kubernetes.api.model.Toleration;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import io.fabric8.kubernetes.api.model.batch.v1.JobSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * Makes the objects of clusters for tests and benchmarks: the same arguments, the same objects. All
 * of them are new and may be changed.
 *
 * <p>Nodes of a block {@code a} are {@code a-CUBE-HOST}, its cubes {@code a-cCUBE}; partitions of a
 * cube are numbered by halving: {@code a-c0-h1} (2x4x4), {@code -q} (2x2x4), {@code -e} (2x2x2),
 * {@code -v} (2x2x1).
 */
public final class ClusterFixtures {

  private static final int HOSTS_PER_CUBE = 16;
  private static final String[][] LEVELS = {
    {"2x4x4", "h", "8"}, {"2x2x4", "q", "4"}, {"2x2x2", "e", "2"}, {"2x2x1", "v", "1"}
  };

  private ClusterFixtures() {}

  // ---------------------------------------------------------------- nodes

  /**
   * A reservation block of TPU7x for dynamic slicing, all of it healthy.
   *
   * @param block its name
   * @param cubes how many cubes
   * @return 16 nodes for each cube
   */
  public static List<Node> block(String block, int cubes) {
    List<Node> nodes = new ArrayList<>();
    for (int c = 0; c < cubes; c++) {
      String cube = cube(block, c);
      for (int h = 0; h < HOSTS_PER_CUBE; h++) {
        Node node = node(block + "-" + c + "-" + h, "tpu7x", "pool-" + cube, 4);
        Map<String, String> labels = node.getMetadata().getLabels();
        labels.put(TpuLabels.BLOCK, block);
        labels.put(TpuLabels.SUBBLOCK, cube);
        partition(labels, "4x4x4", cube);
        for (String[] level : LEVELS) {
          partition(labels, level[0], cube + "-" + level[1] + h / Integer.parseInt(level[2]));
        }
        nodes.add(node);
      }
    }
    return nodes;
  }

  /**
   * The id of a cube.
   *
   * @param block the name of its block
   * @param cube its number
   * @return such as {@code a-c0}
   */
  public static String cube(String block, int cube) {
    return block + "-c" + cube;
  }

  private static void partition(Map<String, String> labels, String shape, String id) {
    labels.put(TpuLabels.PARTITION_PREFIX + shape + TpuLabels.ID_SUFFIX, id);
    labels.put(TpuLabels.PARTITION_PREFIX + shape + TpuLabels.STATE_SUFFIX, "HEALTHY");
  }

  /**
   * A v6e pool whose nodes carry the ids of sub-slices, from 2x4 up to its own topology.
   *
   * @param pool its name
   * @param topology one of 4x4, 4x8, 8x8, 8x16 and 16x16
   * @return a node for each 4 chips
   */
  public static List<Node> subslicing(String pool, String topology) {
    int hosts = (int) Shape.parse(topology).chips() / 4;
    List<Node> nodes = new ArrayList<>();
    for (int h = 0; h < hosts; h++) {
      Node node = node(pool + "-" + h, "tpu-v6e-slice", pool, 4);
      node.getMetadata().getLabels().put(TpuLabels.TOPOLOGY, topology);
      subslices(node, pool, h, hosts);
      nodes.add(node);
    }
    return nodes;
  }

  /**
   * A v6e pod of 16x16 that is provisioned only: no topology of a pool, but ids of sub-slices.
   *
   * @param id the id of the 16x16
   * @return 64 nodes
   */
  public static List<Node> provisioned(String id) {
    List<Node> nodes = new ArrayList<>();
    for (int h = 0; h < 64; h++) {
      Node node = node(id + "-" + h, "tpu-v6e-slice", "pool-" + id, 4);
      subslices(node, id, h, 64);
      nodes.add(node);
    }
    return nodes;
  }

  private static void subslices(Node node, String prefix, int host, int hosts) {
    for (String shape : List.of("2x4", "4x4", "4x8", "8x8", "8x16", "16x16")) {
      int size = (int) Shape.parse(shape).chips() / 4;
      if (size <= hosts) {
        node.getMetadata()
            .getLabels()
            .put(
                TpuLabels.SUBSLICE_PREFIX + shape + TpuLabels.ID_SUFFIX,
                prefix + "-" + shape + "-" + host / size);
      }
    }
  }

  /**
   * A static pool: one slice of fixed topology, or where that is one host, such a node.
   *
   * @param pool its name
   * @param accelerator the value of the accelerator label
   * @param topology its topology
   * @return a node for each 4 chips
   */
  public static List<Node> pool(String pool, String accelerator, String topology) {
    List<Node> nodes = new ArrayList<>();
    for (int h = 0; h < Shape.parse(topology).chips() / 4; h++) {
      nodes.add(single(pool + "-" + h, pool, accelerator, topology, 4));
    }
    return nodes;
  }

  /**
   * A node with a static topology.
   *
   * @param name its name
   * @param pool its node pool
   * @param accelerator the value of the accelerator label
   * @param topology the value of the topology label
   * @param chips its chips
   * @return the node
   */
  public static Node single(
      String name, String pool, String accelerator, String topology, int chips) {
    Node node = node(name, accelerator, pool, chips);
    node.getMetadata().getLabels().put(TpuLabels.TOPOLOGY, topology);
    return node;
  }

  /**
   * A node without TPUs.
   *
   * @param name its name
   * @return the node
   */
  public static Node plain(String name) {
    Node node = new Node();
    node.setMetadata(meta("", name));
    node.getMetadata().setLabels(new TreeMap<>(Map.of(TpuLabels.HOSTNAME, name)));
    node.setSpec(new NodeSpec());
    node.setStatus(new NodeStatus());
    node.getStatus().setAllocatable(new TreeMap<>(Map.of("cpu", new Quantity("8"))));
    ready(node, "True");
    return node;
  }

  private static Node node(String name, String accelerator, String pool, int chips) {
    Node node = plain(name);
    Map<String, String> labels = node.getMetadata().getLabels();
    labels.put(TpuLabels.ACCELERATOR, accelerator);
    labels.put(TpuLabels.NODE_POOL, pool);
    labels.put("topology.kubernetes.io/zone", "us-central1-c");
    taint(node, TpuLabels.TPU, "present", "NoSchedule");
    chips(node, chips);
    return node;
  }

  /**
   * Sets a node's condition Ready.
   *
   * @param node the node
   * @param status {@code True}, {@code False} or {@code Unknown}
   */
  public static void ready(Node node, String status) {
    NodeCondition condition = new NodeCondition();
    condition.setType("Ready");
    condition.setStatus(status);
    node.getStatus().setConditions(new ArrayList<>(List.of(condition)));
  }

  /**
   * Sets the chips that a node offers.
   *
   * @param node the node
   * @param chips how many
   */
  public static void chips(Node node, int chips) {
    Quantity quantity = new Quantity(Integer.toString(chips));
    node.getStatus().setAllocatable(new TreeMap<>(Map.of(TpuLabels.TPU, quantity)));
    node.getStatus().setCapacity(new TreeMap<>(Map.of(TpuLabels.TPU, quantity)));
  }

  /**
   * Adds a taint.
   *
   * @param node the node
   * @param key its key
   * @param value its value
   * @param effect its effect
   */
  public static void taint(Node node, String key, String value, String effect) {
    Taint taint = new Taint();
    taint.setKey(key);
    taint.setValue(value);
    taint.setEffect(effect);
    List<Taint> taints = new ArrayList<>(node.getSpec().getTaints());
    taints.add(taint);
    node.getSpec().setTaints(taints);
  }

  /**
   * Sets the state of a partition on those of some nodes that lie in it.
   *
   * @param nodes any nodes
   * @param shape the shape of the partition, as the label spells it
   * @param id its id
   * @param state the state
   */
  public static void state(List<Node> nodes, String shape, String id, String state) {
    for (Node node : nodes) {
      Map<String, String> labels = node.getMetadata().getLabels();
      if (id.equals(labels.get(TpuLabels.PARTITION_PREFIX + shape + TpuLabels.ID_SUFFIX))) {
        labels.put(TpuLabels.PARTITION_PREFIX + shape + TpuLabels.STATE_SUFFIX, state);
      }
    }
  }

  // ---------------------------------------------------------------- work

  /**
   * A Slice.
   *
   * @param name its name
   * @param topology its topology
   * @param reason the reason of its condition Ready; null for none
   * @param partitions its partition ids
   * @return the object
   */
  public static GenericKubernetesResource slice(
      String name, String topology, String reason, List<String> partitions) {
    GenericKubernetesResource slice = new GenericKubernetesResource();
    slice.setApiVersion(SliceManifest.API_VERSION);
    slice.setKind(SliceManifest.KIND);
    slice.setMetadata(meta("", name));
    Map<String, Object> spec = new LinkedHashMap<>();
    spec.put("type", "tpu7x");
    spec.put("topology", topology);
    spec.put("partitionIds", new ArrayList<>(partitions));
    slice.setAdditionalProperty("spec", spec);
    if (reason != null) {
      Map<String, Object> condition = new LinkedHashMap<>();
      condition.put("type", "Ready");
      condition.put("status", reason.startsWith("ACTIVE") ? "True" : "False");
      condition.put("reason", reason);
      Map<String, Object> status = new LinkedHashMap<>();
      status.put("conditions", new ArrayList<>(List.of(condition)));
      slice.setAdditionalProperty("status", status);
    }
    return slice;
  }

  /**
   * An indexed Job of whole 4-chip hosts.
   *
   * @param namespace its namespace
   * @param name its name
   * @param accelerator the value of the accelerator selector
   * @param topology the shape wanted; as annotation on tpu7x, else as selector
   * @param priority of its pods
   * @return the object
   */
  public static Job job(
      String namespace, String name, String accelerator, String topology, int priority) {
    int pods = (int) Math.max(1, Shape.parse(topology).chips() / 4);
    Job job = new Job();
    job.setMetadata(meta(namespace, name));
    job.setSpec(new JobSpec());
    job.getSpec().setCompletionMode("Indexed");
    job.getSpec().setCompletions(pods);
    job.getSpec().setParallelism(pods);
    PodTemplateSpec template = new PodTemplateSpec();
    template.setMetadata(new ObjectMeta());
    template.setSpec(podSpec(4));
    template.getSpec().setPriority(priority);
    Map<String, String> selector = template.getSpec().getNodeSelector();
    selector.put(TpuLabels.ACCELERATOR, accelerator);
    if (accelerator.equals("tpu7x")) {
      template
          .getMetadata()
          .setAnnotations(new TreeMap<>(Map.of(TpuLabels.SLICE_TOPOLOGY, topology)));
    } else {
      selector.put(TpuLabels.TOPOLOGY, topology);
    }
    job.getSpec().setTemplate(template);
    return job;
  }

  /**
   * A running pod of an indexed Job.
   *
   * @param job the Job
   * @param index its completion index
   * @param node the node that it runs on
   * @return the object
   */
  public static Pod podOf(Job job, int index, String node) {
    ObjectMeta of = job.getMetadata();
    Pod pod = new Pod();
    pod.setMetadata(meta(of.getNamespace(), of.getName() + "-" + index));
    OwnerReference owner = new OwnerReference();
    owner.setApiVersion("batch/v1");
    owner.setKind("Job");
    owner.setName(of.getName());
    owner.setUid(of.getUid());
    owner.setController(true);
    pod.getMetadata().setOwnerReferences(new ArrayList<>(List.of(owner)));
    String number = Integer.toString(index);
    pod.getMetadata()
        .setLabels(
            new TreeMap<>(
                Map.of(
                    "batch.kubernetes.io/job-name",
                    of.getName(),
                    "batch.kubernetes.io/job-completion-index",
                    number)));
    pod.getMetadata()
        .setAnnotations(new TreeMap<>(Map.of("batch.kubernetes.io/job-completion-index", number)));
    pod.setSpec(podSpec(4));
    pod.getSpec().setNodeName(node);
    pod.setStatus(new PodStatus());
    pod.getStatus().setPhase("Running");
    return pod;
  }

  /**
   * A pod that wants no chips and that every node runs one of.
   *
   * @param name its name
   * @param node the node that it runs on
   * @return the object
   */
  public static Pod daemon(String name, String node) {
    Pod pod = new Pod();
    pod.setMetadata(meta("kube-system", name));
    OwnerReference owner = new OwnerReference();
    owner.setApiVersion("apps/v1");
    owner.setKind("DaemonSet");
    owner.setName("agent");
    owner.setUid("uid-agent");
    owner.setController(true);
    pod.getMetadata().setOwnerReferences(new ArrayList<>(List.of(owner)));
    pod.setSpec(podSpec(0));
    pod.getSpec().setNodeName(node);
    pod.setStatus(new PodStatus());
    pod.getStatus().setPhase("Running");
    return pod;
  }

  private static PodSpec podSpec(int chips) {
    PodSpec spec = new PodSpec();
    Container container = new Container();
    container.setName("worker");
    container.setImage("example.com/worker");
    ResourceRequirements resources = new ResourceRequirements();
    if (chips > 0) {
      Quantity quantity = new Quantity(Integer.toString(chips));
      resources.setLimits(new TreeMap<>(Map.of(TpuLabels.TPU, quantity)));
      resources.setRequests(new TreeMap<>(Map.of(TpuLabels.TPU, quantity)));
      Toleration toleration = new Toleration();
      toleration.setKey(TpuLabels.TPU);
      toleration.setOperator("Exists");
      toleration.setEffect("NoSchedule");
      spec.setTolerations(new ArrayList<>(List.of(toleration)));
    }
    container.setResources(resources);
    spec.setContainers(new ArrayList<>(List.of(container)));
    spec.setNodeSelector(new TreeMap<>());
    return spec;
  }

  private static ObjectMeta meta(String namespace, String name) {
    ObjectMeta meta = new ObjectMeta();
    meta.setName(name);
    meta.setUid("uid-" + namespace + "-" + name);
    if (!namespace.isEmpty()) {
      meta.setNamespace(namespace);
    }
    return meta;
  }

  // ---------------------------------------------------------------- clusters

  /**
   * Slices, Jobs and pods that fill part of a block: each Job has one Slice of whole cubes.
   *
   * @param nodes all nodes of the block, as {@link #block} gives them
   * @param block its name
   * @param share of its cubes to fill, 0 to 1
   * @param seed decides the sizes
   * @return the objects, the nodes themselves not included; they get the labels of their Slices
   */
  public static List<HasMetadata> fill(List<Node> nodes, String block, double share, long seed) {
    Random random = new Random(seed);
    List<HasMetadata> objects = new ArrayList<>();
    int[] sizes = {1, 1, 2, 4, 8, 16};
    String[] shapes = {"4x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8", "8x8x16"};
    int cubes = nodes.size() / HOSTS_PER_CUBE;
    int at = 0;
    for (int n = 0; ; n++) {
      int pick = random.nextInt(sizes.length);
      if (at + sizes[pick] > cubes * share) {
        return objects;
      }
      Job job = job("team-" + n % 5, block + "-train-" + n, "tpu7x", shapes[pick], n % 3 * 100);
      String name = job.getMetadata().getName();
      List<String> partitions = new ArrayList<>();
      for (int c = at; c < at + sizes[pick]; c++) {
        partitions.add(cube(block, c));
      }
      GenericKubernetesResource slice = slice(name, shapes[pick], "ACTIVE", partitions);
      slice
          .getMetadata()
          .setAnnotations(
              new TreeMap<>(
                  Map.of(
                      TpuLabels.OWN_REQUEST, "Job/" + job.getMetadata().getNamespace() + "/" + name,
                      TpuLabels.OWN_INDEX, "0",
                      TpuLabels.OWN_SLICES, "1")));
      job.getSpec().getTemplate().getSpec().getNodeSelector().put(TpuLabels.SLICE, name);
      objects.add(job);
      objects.add(slice);
      for (int h = 0; h < sizes[pick] * HOSTS_PER_CUBE; h++) {
        Node node = nodes.get(at * HOSTS_PER_CUBE + h);
        Map<String, String> labels = node.getMetadata().getLabels();
        labels.put(TpuLabels.SLICE, name);
        labels.put(TpuLabels.SLICE_TOPOLOGY, shapes[pick]);
        labels.put(TpuLabels.TOPOLOGY, shapes[pick]);
        objects.add(podOf(job, h, node.getMetadata().getName()));
      }
      at += sizes[pick];
    }
  }

  /**
   * A large cluster: three full TPU7x blocks about nine tenths busy, 30 v6e pools of 16x16 with
   * sub-slices, 30 v5p pools of 4x4x8 half of which run a Job, and 208 single v5e hosts; pods of
   * the Jobs, and daemons to make up the number.
   *
   * @param pods how many pods in all; 30,000 go with 10,000 nodes
   * @param seed decides sizes
   * @return 10,000 nodes, their Slices, Jobs and pods
   */
  public static List<HasMetadata> large(int pods, long seed) {
    List<HasMetadata> objects = new ArrayList<>();
    List<Node> nodes = new ArrayList<>();
    for (int b = 0; b < 3; b++) {
      List<Node> block = block("blk-" + b, 144);
      objects.addAll(fill(block, "blk-" + b, 0.9, seed + b));
      nodes.addAll(block);
    }
    for (int p = 0; p < 30; p++) {
      nodes.addAll(subslicing("v6e-" + p, "16x16"));
    }
    for (int p = 0; p < 30; p++) {
      String pool = "v5p-" + p;
      List<Node> members = pool(pool, "tpu-v5p-slice", "4x4x8");
      nodes.addAll(members);
      if (p % 2 == 0) {
        Job job = job("team-v5p", "fixed-" + p, "tpu-v5p-slice", "4x4x8", 10);
        job.getSpec().getTemplate().getSpec().getNodeSelector().put(TpuLabels.NODE_POOL, pool);
        objects.add(job);
        for (int h = 0; h < members.size(); h++) {
          objects.add(podOf(job, h, members.get(h).getMetadata().getName()));
        }
      }
    }
    for (int h = 0; nodes.size() < 10_000; h++) {
      nodes.add(single("v5e-" + h, "v5e-pool", "tpu-v5-lite-podslice", "2x4", 8));
    }
    long running = objects.stream().filter(Pod.class::isInstance).count();
    for (int d = 0; running + d < pods; d++) {
      String node = nodes.get(d % nodes.size()).getMetadata().getName();
      objects.add(daemon("agent-" + d, node));
    }
    objects.addAll(nodes);
    return objects;
  }

  /**
   * Jobs that wait for whole cubes of TPU7x.
   *
   * @param count how many
   * @param seed decides the sizes
   * @return Jobs of 1 to 16 cubes
   */
  public static List<HasMetadata> waiting(int count, long seed) {
    Random random = new Random(seed);
    String[] shapes = {"4x4x4", "4x4x8", "4x8x8", "8x8x8", "8x8x16"};
    List<HasMetadata> jobs = new ArrayList<>();
    for (int n = 0; n < count; n++) {
      String shape = shapes[random.nextInt(shapes.length)];
      jobs.add(job("team-" + n % 5, "wait-" + n, "tpu7x", shape, n % 3 * 100));
    }
    return jobs;
  }
}
