package dev.slicewright.slurm;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Placement;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A Slurm cluster as a fleet and requests. Immutable, safe to share.
 *
 * <p>Each torus is one pod of the fleet, with the torus's name; one chip of the pod is one node, so
 * wherever the planner counts chips, it counts nodes. {@link SlurmModel} says how the anchors of a
 * torus are modelled, and what a host of the pod is.
 *
 * <p>A job that runs becomes running slices, one for each segment, where its nodes are anchors of
 * the torus. Otherwise it is left out and its nodes are cordoned, as are nodes that are allocated
 * though no job that is listed has them.
 *
 * <p>A job that waits becomes a request with the job's id and priority, its account as the tenant:
 * the placements of exactly as many nodes as it, or each of its segments, asks for. Unlike in
 * Slurm, all segments of a job get equal extents.
 */
public final class SlurmCluster {

  /** What a reader was told. */
  record Settings(boolean lenient, String accelerator, boolean anyAnchor, Set<String> partitions) {

    /** What a reader does that was told no more. */
    static Settings byDefault(boolean lenient) {
      return new Settings(lenient, "torus3d", false, Set.of());
    }
  }

  private final String topology;
  private final List<SlurmTorus> toruses;
  private final Settings settings;
  private final List<Problem> topologyProblems;
  private final List<SlurmLeftOut> topologyLeftOut;
  private final @Nullable List<SlurmNode> nodes;
  private final List<Problem> nodeProblems;
  private final List<SlurmJob> jobs;
  private final Map<String, SlurmJob> jobOf = new HashMap<>();
  private final List<Problem> jobProblems;
  private final ClusterAssembly assembly;

  private SlurmCluster(
      String topology,
      List<SlurmTorus> toruses,
      Settings settings,
      List<Problem> topologyProblems,
      List<SlurmLeftOut> topologyLeftOut,
      @Nullable List<SlurmNode> nodes,
      List<Problem> nodeProblems,
      List<SlurmJob> jobs,
      List<Problem> jobProblems) {
    this.topology = topology;
    this.toruses = List.copyOf(toruses);
    this.settings = settings;
    this.topologyProblems = topologyProblems;
    this.topologyLeftOut = List.copyOf(topologyLeftOut);
    this.nodes = nodes;
    this.nodeProblems = nodeProblems;
    this.jobs = jobs;
    jobs.forEach(job -> jobOf.put(job.id(), job));
    this.jobProblems = jobProblems;
    this.assembly = ClusterAssembly.of(topology, this.toruses, settings, nodes, jobs);
    if (!settings.lenient()) {
      List<Problem> all = problems();
      if (!all.isEmpty()) {
        throw new InvalidInputException("Slurm cluster", all);
      }
    }
  }

  /**
   * A cluster of toruses that were built in Java, with every node free and no jobs; strict, as one
   * of {@link SlurmTopologyReader#create()}. Needs no other library.
   *
   * @param topology the name of the topology
   * @param toruses one or more, of different names and nodes
   * @return the cluster
   * @throws InvalidInputException naming every torus without a name of its own or larger than a pod
   *     may be, and every node that is in two
   */
  public static SlurmCluster of(String topology, List<SlurmTorus> toruses) {
    Problems problems = new Problems();
    Set<String> names = new HashSet<>();
    Set<String> nodes = new HashSet<>();
    for (SlurmTorus torus : toruses) {
      String path = "torus/" + torus.name();
      if (torus.name().isEmpty() || !names.add(torus.name())) {
        problems.add(path, "expected a name of its own; choose another");
      }
      SlurmTorus.whyTooLarge(torus.dims()).ifPresent(why -> problems.add(path + ".dims", why));
      for (String node : torus.nodes()) {
        if (!node.isEmpty() && !nodes.add(node)) {
          problems.add(path + ".nodes", node + " is in another torus too; name it once");
        }
      }
    }
    if (toruses.isEmpty()) {
      problems.add("toruses", "expected one or more, but there is none; add one");
    }
    problems.throwIfAny("Slurm cluster");
    return of(topology, toruses, Settings.byDefault(false), List.of(), List.of());
  }

  static SlurmCluster of(
      String topology,
      List<SlurmTorus> toruses,
      Settings settings,
      List<Problem> problems,
      List<SlurmLeftOut> leftOut) {
    return new SlurmCluster(
        topology, toruses, settings, problems, leftOut, null, List.of(), List.of(), List.of());
  }

  /**
   * This cluster with the states of its nodes, in place of those that it had. Nodes that are on no
   * torus are passed over.
   *
   * @param text what {@code sinfo -h -N -o "%N %T"} or {@code scontrol show nodes --json} prints
   * @return a cluster
   * @throws InvalidInputException if strict, listing every problem: a state that Slurm does not
   *     have, a line that cannot be read, a node of a torus that is not listed; if lenient, these
   *     nodes are taken as failed, and only text that is not JSON but begins as it is thrown
   */
  public SlurmCluster withNodes(String text) {
    Problems problems = new Problems();
    List<SlurmNode> read = SlurmNode.parse(withoutMark(text), problems);
    return with(read, problems.list());
  }

  /** A text without the mark by which some editors and shells say that it is Unicode. */
  private static String withoutMark(String text) {
    return text.startsWith("\ufeff") ? text.substring(1) : text;
  }

  /**
   * This cluster with the states of its nodes, in place of those that it had.
   *
   * @param states every node of the toruses; others are passed over
   * @return a cluster
   * @throws InvalidInputException if strict and a node of a torus is missing
   */
  public SlurmCluster withNodes(Collection<SlurmNode> states) {
    Problems problems = new Problems();
    List<SlurmNode> known = states.stream().filter(Objects::nonNull).toList();
    if (known.size() < states.size()) {
      problems.add("nodes", "expected nodes, but some are null; drop them");
    }
    return with(known, problems.list());
  }

  private SlurmCluster with(List<SlurmNode> states, List<Problem> problems) {
    return new SlurmCluster(
        topology,
        toruses,
        settings,
        topologyProblems,
        topologyLeftOut,
        List.copyOf(states),
        problems,
        jobs,
        jobProblems);
  }

  /**
   * This cluster with the jobs of its queue, in place of those that it had.
   *
   * @param text what {@code squeue -h -r -o "%i|%T|%r|%D|%Q|%u|%a|%P|%l|%N"} or {@code squeue
   *     --json} prints; only JSON tells segments, start times and whether jobs may be requeued
   * @return a cluster
   * @throws InvalidInputException if strict, listing every problem; if lenient, such jobs are
   *     passed over, and only text that is not JSON but begins as it is thrown
   */
  public SlurmCluster withJobs(String text) {
    Problems problems = new Problems();
    List<SlurmJob> read = SlurmJob.parse(withoutMark(text), problems);
    return withJobs(read, problems);
  }

  /**
   * This cluster with the jobs of its queue, in place of those that it had.
   *
   * @param queue waiting and running jobs, each id once
   * @return a cluster
   * @throws InvalidInputException if strict and an id is there twice
   */
  public SlurmCluster withJobs(Collection<SlurmJob> queue) {
    return withJobs(queue, new Problems());
  }

  private SlurmCluster withJobs(Collection<SlurmJob> queue, Problems problems) {
    List<SlurmJob> distinct = new ArrayList<>();
    Set<String> ids = new HashSet<>();
    for (SlurmJob job : queue) {
      if (job == null) {
        problems.add("jobs", "expected jobs, but one is null; drop it");
      } else if (ids.add(job.id())) {
        distinct.add(job);
      } else {
        problems.add("Job/" + job.id(), "expected each job once, but it is listed twice; drop one");
      }
    }
    return new SlurmCluster(
        topology,
        toruses,
        settings,
        topologyProblems,
        topologyLeftOut,
        nodes,
        nodeProblems,
        List.copyOf(distinct),
        problems.list());
  }

  /**
   * The name of the topology that was read.
   *
   * @return its name
   */
  public String topology() {
    return topology;
  }

  /**
   * Its toruses.
   *
   * @return an unmodifiable list, in the order of the file
   */
  public List<SlurmTorus> toruses() {
    return toruses;
  }

  /**
   * How the anchors of a torus are modelled.
   *
   * @param torus its name
   * @return the model, or empty if there is no such torus
   */
  public Optional<SlurmModel> model(String torus) {
    return Optional.ofNullable(assembly.models().get(torus)).map(TorusModel::kind);
  }

  /**
   * The toruses as pods, with what runs and what is down.
   *
   * @return the fleet
   */
  public Fleet fleet() {
    return assembly.fleet();
  }

  /**
   * What waits, by descending priority, then as listed.
   *
   * @return an unmodifiable list; the id of a request is that of its job
   */
  public List<SliceRequest> requests() {
    return assembly.requests();
  }

  /**
   * The jobs.
   *
   * @return an unmodifiable list, as given
   */
  public List<SlurmJob> jobs() {
    return jobs;
  }

  /**
   * A job.
   *
   * @param id its id
   * @return the job, or empty if it was not given
   */
  public Optional<SlurmJob> job(String id) {
    return Optional.ofNullable(jobOf.get(id));
  }

  /**
   * What was wrong with the input.
   *
   * @return an unmodifiable list, empty if the reader was strict
   */
  public List<Problem> problems() {
    List<Problem> all = new ArrayList<>(topologyProblems);
    all.addAll(nodeProblems);
    all.addAll(jobProblems);
    all.addAll(assembly.problems());
    return List.copyOf(all);
  }

  /**
   * What fleet and requests do not represent.
   *
   * @return an unmodifiable list
   */
  public List<SlurmLeftOut> leftOut() {
    List<SlurmLeftOut> all = new ArrayList<>(topologyLeftOut);
    all.addAll(assembly.leftOut());
    return List.copyOf(all);
  }

  /**
   * Rules under which running jobs that Slurm may not requeue are pinned, whatever the rules say of
   * other jobs: those submitted with {@code --no-requeue}, which would be cancelled and must be
   * submitted anew, and components of heterogeneous jobs, which Slurm requeues only all together.
   *
   * @param rules the rules
   * @return the rules with a permission for each such job
   */
  public PlanningRules pinned(PlanningRules rules) {
    PlanningRules.Builder builder = rules.toBuilder();
    for (SlurmJob job : jobs) {
      if ((!job.mayRequeue() || job.isComponent())
          && !assembly.fleet().runningOf(job.id()).isEmpty()) {
        builder.permit(job.id(), Permission.PINNED);
      }
    }
    return builder.build();
  }

  /**
   * The nodes on which a job could start: up, and neither used nor cordoned.
   *
   * @return in canonical order
   */
  public HostList idleNodes() {
    return assembly.idleNodes();
  }

  /**
   * Where a job of a size could start now: the anchors of placements of exactly that size whose
   * nodes are all idle. Many idle nodes do not mean that there is one. They may overlap.
   *
   * @param size nodes, 1 or more
   * @return the nodes of each, in canonical order; the anchors in the order of the plugin. O(nodes
   *     + anchors), and what is returned
   */
  public List<HostList> idleAnchors(int size) {
    return assembly.idleAnchors(size);
  }

  /**
   * The nodes of a slice.
   *
   * @param placement of a plan for this cluster's fleet
   * @return the nodes in worker order: x fastest, then y, then z, in the slice's own frame
   * @throws InvalidInputException if its pod is no torus of this cluster
   */
  public List<String> nodesOf(Placement placement) {
    return nodes(placement.pod(), placement.shape(), placement.footprint());
  }

  List<String> nodes(String pod, Shape shape, Footprint footprint) {
    return modelOf(pod).nodes(shape, footprint);
  }

  /** The model of a pod that a plan names. */
  private TorusModel modelOf(String pod) {
    TorusModel model = assembly.models().get(pod);
    if (model == null) {
      throw new InvalidInputException(
          "Slurm plan",
          "pod",
          "expected one of " + assembly.models().keySet() + ", but was " + pod);
    }
    return model;
  }

  /** Whether a segment is an anchor, whoever planned it. */
  boolean isAnchor(SlurmPlan.Segment segment) {
    return modelOf(segment.torus()).torus().isAnchor(segment.nodes());
  }

  /** How many anchors of a segment's size lie within the nodes of a job. */
  int anchorsIn(SlurmPlan.JobPlacement placed) {
    Set<String> nodes = new HashSet<>(placed.nodes());
    int size = placed.segments().get(0).nodes().size();
    int count = 0;
    for (SlurmTorus torus : toruses) {
      CellCounts own =
          new CellCounts(torus.dims(), cell -> nodes.contains(torus.nodes().get(cell)));
      Set<TorusBox> distinct = new HashSet<>();
      for (TorusPlacement placement : torus.placements()) {
        if (placement.size() == size) {
          distinct.addAll(AnchorFamily.anchors(torus, placement));
        }
      }
      distinct.removeIf(box -> !own.all(box));
      count += distinct.size();
    }
    return count;
  }

  ClusterAssembly assembly() {
    return assembly;
  }

  @Override
  public String toString() {
    return "topology " + topology + ": " + toruses + ", " + jobs.size() + " jobs";
  }
}
