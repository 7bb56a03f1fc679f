package dev.slicewright.slurm;

import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Rollout;
import dev.slicewright.plan.Step;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.plan.Wave;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * A plan in Slurm's words: node lists for jobs, what to requeue and start in which order, and why
 * jobs wait. Immutable, safe to share.
 *
 * <p>Slurm starts a pinned job on exactly its list: topology/torus3d takes a required node list
 * that lies inside an anchor as that anchor. It does not order ranks by it; {@link Segment#nodes()}
 * has the order for a rank file.
 */
public final class SlurmPlan {

  /**
   * Where one segment of a job goes. Immutable, safe to share.
   *
   * @param torus the name of its torus
   * @param dims its extents, as the placement lists them
   * @param nodes its nodes in worker order: x fastest, then y, then z
   */
  public record Segment(String torus, Shape dims, List<String> nodes) {
    /** Checks for null and copies the list. */
    public Segment {
      Objects.requireNonNull(torus, "torus");
      Objects.requireNonNull(dims, "dims");
      nodes = List.copyOf(nodes);
    }

    /**
     * The nodes as a host list in canonical order.
     *
     * @return such as {@code tpu[001-008]}
     */
    public String nodeList() {
      return HostList.of(nodes).sorted().toString();
    }
  }

  /**
   * Where a job goes. Immutable, safe to share.
   *
   * @param job its id
   * @param segments one or more
   */
  public record JobPlacement(String job, List<Segment> segments) {
    /** Checks for null and copies the list. */
    public JobPlacement {
      Objects.requireNonNull(job, "job");
      segments = List.copyOf(segments);
    }

    /**
     * All nodes in worker order, segment by segment.
     *
     * @return the nodes
     */
    public List<String> nodes() {
      return segments.stream().flatMap(s -> s.nodes().stream()).toList();
    }

    /**
     * All nodes in canonical order, the text for {@code --nodelist} and {@code ReqNodeList}.
     *
     * @return such as {@code tpu[001-016]}
     */
    public String nodeList() {
      return HostList.of(nodes()).sorted().toString();
    }
  }

  /**
   * A job that waits on. Immutable, safe to share.
   *
   * @param job its id
   * @param reason why
   * @param never whether it could not even start on an empty cluster
   * @param sentence the reason for people, in nodes
   */
  public record Waiting(String job, Reason reason, boolean never, String sentence) {
    /** Checks for null. */
    public Waiting {
      Objects.requireNonNull(job, "job");
      Objects.requireNonNull(reason, "reason");
      Objects.requireNonNull(sentence, "sentence");
    }

    @Override
    public String toString() {
      return "job " + job + ": " + sentence;
    }
  }

  /**
   * One thing to do, after those before it. Immutable, safe to share.
   *
   * @param number from 1
   * @param kind what is done
   * @param job to which job
   * @param nodes the nodes that it gives back, or starts on, in canonical order
   * @param sentence what and why, for people
   * @param commands how, as commands of a POSIX shell; empty where a job must be submitted anew
   */
  public record Action(
      int number, Kind kind, String job, HostList nodes, String sentence, List<String> commands) {

    /** What is done. Immutable, safe to share. */
    public enum Kind {
      /** The job is put back into the queue and held: all of it, also segments that stay. */
      REQUEUE,
      /** The job ends for good, since it was submitted with {@code --no-requeue}. */
      CANCEL,
      /** The job is pinned to its nodes, and may start. */
      START,
      /** A job that was requeued and got no place may compete again, for any nodes. */
      RELEASE
    }

    /** Checks for null and copies the list. */
    public Action {
      Objects.requireNonNull(kind, "kind");
      Objects.requireNonNull(job, "job");
      Objects.requireNonNull(nodes, "nodes");
      Objects.requireNonNull(sentence, "sentence");
      commands = List.copyOf(commands);
    }

    @Override
    public String toString() {
      return number + " " + kind + " " + sentence;
    }
  }

  private final List<JobPlacement> placements;
  private final List<Action> actions;
  private final List<Waiting> waiting;
  private final List<Problem> problems;
  private final List<String> notes;

  private SlurmPlan(
      List<JobPlacement> placements,
      List<Action> actions,
      List<Waiting> waiting,
      List<Problem> problems,
      List<String> notes) {
    this.placements = List.copyOf(placements);
    this.actions = List.copyOf(actions);
    this.waiting = List.copyOf(waiting);
    this.problems = List.copyOf(problems);
    this.notes = List.copyOf(notes);
  }

  /**
   * A plan in Slurm's words.
   *
   * @param cluster the cluster whose fleet and requests were planned
   * @param plan the plan
   * @return the node lists, actions and reasons
   * @throws dev.slicewright.plan.StalePlanException if the plan does not fit the cluster's fleet
   */
  public static SlurmPlan of(SlurmCluster cluster, Plan plan) {
    Rollout rollout = Rollout.of(cluster.fleet(), plan);
    Script script = new Script(cluster, plan);
    rollout.waves().forEach(script::wave);
    script.releaseEvicted();
    List<JobPlacement> placements =
        plan.placements().stream().map(p -> placement(cluster, p)).toList();
    Set<String> taken = new HashSet<>();
    script
        .now
        .values()
        .forEach(segments -> segments.values().forEach(s -> taken.addAll(s.nodes())));
    IdleRoom room = new IdleRoom(cluster, taken);
    return new SlurmPlan(
        placements,
        script.actions,
        plan.unplaced().stream().map(u -> waiting(cluster, u, room)).toList(),
        check(cluster, script.now),
        notes(cluster, placements));
  }

  /** Jobs whose list Slurm may cut into segments in another way than the plan. */
  private static List<String> notes(SlurmCluster cluster, List<JobPlacement> placements) {
    List<String> notes = new ArrayList<>();
    for (JobPlacement placed : placements) {
      int segments = placed.segments().size();
      int anchors = segments == 1 ? 1 : cluster.anchorsIn(placed);
      if (anchors > segments) {
        notes.add(
            "job "
                + placed.job()
                + ": "
                + anchors
                + " anchors lie in its nodes, of which it gets "
                + segments
                + "; Slurm takes one after another and never goes back, so it may cut the list"
                + " in another way, or leave the job waiting");
      }
    }
    return notes;
  }

  private static JobPlacement placement(SlurmCluster cluster, RequestPlacement placed) {
    return new JobPlacement(
        placed.request().id(), placed.slices().stream().map(p -> segment(cluster, p)).toList());
  }

  private static Segment segment(SlurmCluster cluster, Placement p) {
    return segment(cluster, p.pod(), p.shape(), p.footprint());
  }

  private static Segment segment(
      SlurmCluster cluster, String pod, Shape shape, Footprint footprint) {
    return new Segment(pod, shape, cluster.nodes(pod, shape, footprint));
  }

  /** Whether each segment, wherever it comes from, is an anchor of its torus. */
  private static List<Problem> check(
      SlurmCluster cluster, Map<String, Map<Integer, Segment>> placed) {
    Problems problems = new Problems();
    placed.forEach(
        (job, segments) ->
            segments.forEach(
                (index, segment) -> {
                  if (!cluster.isAnchor(segment)) {
                    problems.add(
                        "Job/" + job + ".segments[" + index + "]",
                        "expected an anchor of torus "
                            + segment.torus()
                            + ", but "
                            + segment.dims()
                            + " on "
                            + segment.nodeList()
                            + " is none, so Slurm refuses it; read the topology without"
                            + " anyAnchor, or list a placement with a smaller spacing");
                  }
                }));
    return problems.list();
  }

  private static Waiting waiting(SlurmCluster cluster, Unplaced unplaced, IdleRoom room) {
    String job = unplaced.request();
    Optional<SlurmJob> known = cluster.job(job);
    String sentence = unplaced.sentence().replaceAll("\\bchip(s?)\\b", "node$1");
    if (known.isPresent() && !unplaced.never()) {
      int nodes = known.get().nodeCount();
      int size = known.get().segment() > 0 ? Math.min(known.get().segment(), nodes) : nodes;
      if (room.nodes.size() >= nodes && !room.hasAnchor(size)) {
        sentence =
            "needs "
                + (size == nodes ? "" : nodes / size + " times ")
                + "a placement of "
                + size
                + " nodes that is wholly idle; "
                + room.nodes.size()
                + " nodes stay idle ("
                + room.text
                + "), but no placement lies in them. "
                + sentence;
      }
    }
    return new Waiting(job, unplaced.reason(), unplaced.never(), sentence);
  }

  /**
   * Where the jobs go that waited.
   *
   * @return an unmodifiable list, in the plan's order
   */
  public List<JobPlacement> placements() {
    return placements;
  }

  /**
   * Where a job goes that waited.
   *
   * @param job its id
   * @return its place, or empty if it has none
   */
  public Optional<JobPlacement> placement(String job) {
    return placements.stream().filter(p -> p.job().equals(job)).findFirst();
  }

  /**
   * What to do, in order. An action may be taken when those before it are done; jobs that Slurm
   * starts of itself in between may take the nodes, so hold the partition if it must not.
   *
   * @return an unmodifiable list
   */
  public List<Action> actions() {
    return actions;
  }

  /**
   * The jobs that wait on, and why.
   *
   * @return an unmodifiable list, in the plan's order
   */
  public List<Waiting> waiting() {
    return waiting;
  }

  /**
   * Segments that Slurm would refuse, since they are no anchors: at most where a torus is modelled
   * as {@link SlurmModel#ANY_ANCHOR}, or a request was not made by the cluster.
   *
   * @return an unmodifiable list, by job
   */
  public List<Problem> problems() {
    return problems;
  }

  /**
   * What to know about the node lists: jobs of several segments whose nodes hold more anchors than
   * segments, since Slurm then chooses among them by itself.
   *
   * @return an unmodifiable list of sentences, in the plan's order
   */
  public List<String> notes() {
    return notes;
  }

  @Override
  public String toString() {
    return placements.size() + " placed, " + actions.size() + " actions, " + waiting;
  }

  /** What is idle once the plan is carried out. Confined to one thread at a time. */
  private static final class IdleRoom {
    private final SlurmCluster cluster;
    private final Set<String> taken;
    private final HostList nodes;
    private final String text;
    private final Map<Integer, Boolean> anchors = new HashMap<>(); // by size, those asked for

    IdleRoom(SlurmCluster cluster, Set<String> taken) {
      this.cluster = cluster;
      this.taken = taken;
      this.nodes =
          HostList.of(
              cluster.idleNodes().names().stream().filter(n -> !taken.contains(n)).toList());
      this.text = nodes.toString();
    }

    boolean hasAnchor(int size) {
      return anchors.computeIfAbsent(size, s -> cluster.assembly().hasIdleAnchor(s, taken));
    }
  }

  /** Turns steps of slices into actions on whole jobs. Confined to one thread at a time. */
  private static final class Script {
    private final SlurmCluster cluster;
    private final Map<String, Integer> slices = new LinkedHashMap<>(); // that each job shall have
    private final Map<String, Map<Integer, Segment>> now = new TreeMap<>();
    private final Set<String> running = new HashSet<>();
    private final Set<String> held = new HashSet<>();
    private final Set<String> ended = new HashSet<>();
    private final Set<String> evicted = new LinkedHashSet<>();
    private final List<Action> actions = new ArrayList<>();

    Script(SlurmCluster cluster, Plan plan) {
      this.cluster = cluster;
      for (RunningSlice slice : cluster.fleet().running()) {
        String job = slice.request().id();
        put(
            job,
            slice.id().index(),
            segment(cluster, slice.pod(), slice.shape(), slice.footprint()));
        running.add(job);
        slices.put(job, slice.request().slices());
      }
      for (RequestPlacement placed : plan.placements()) {
        slices.put(placed.request().id(), placed.slices().size());
      }
      for (Eviction eviction : plan.evictions()) {
        evicted.add(eviction.request());
      }
    }

    private void put(String job, int index, Segment segment) {
      segments(job).put(index, segment);
    }

    private Map<Integer, Segment> segments(String job) {
      return now.computeIfAbsent(job, j -> new TreeMap<>());
    }

    void wave(Wave wave) {
      wave.steps().stream().filter(s -> s.kind().vacates()).forEach(s -> stop(s.request().id()));
      Set<String> changed = new LinkedHashSet<>();
      for (Step step : wave.steps()) {
        String job = step.request().id();
        if (step.kind().vacates()) {
          segments(job).remove(step.slice().index());
        } else if (step.kind().takes()) {
          changed.add(job);
        }
      }
      for (Step step : wave.steps()) {
        if (step.kind().takes()) {
          put(step.request().id(), step.slice().index(), segment(cluster, step.at()));
        }
      }
      for (String job : changed) {
        if (segments(job).size() == slices.getOrDefault(job, 1)) {
          start(job);
        }
      }
    }

    private void stop(String job) {
      if (!running.remove(job)) {
        return;
      }
      HostList nodes = nodes(job);
      boolean requeue = cluster.job(job).map(SlurmJob::mayRequeue).orElse(true);
      String why = evicted.contains(job) ? "makes room for other jobs" : "moves to other nodes";
      if (requeue) {
        held.add(job);
        add(
            Action.Kind.REQUEUE,
            job,
            nodes,
            "job " + job + " " + why + ": requeue and hold it, it gives back " + nodes,
            List.of("scontrol requeuehold " + quoted(job)));
      } else {
        add(
            Action.Kind.CANCEL,
            job,
            nodes,
            "job "
                + job
                + " "
                + why
                + " and may not be requeued: cancel it, it gives back "
                + nodes,
            List.of("scancel " + quoted(job)));
        ended.add(job);
      }
    }

    private void start(String job) {
      HostList nodes = nodes(job);
      boolean cancelled = ended.contains(job);
      running.add(job);
      List<String> commands = new ArrayList<>();
      if (!cancelled) {
        commands.add(update(job, nodes.toString()));
        if (held.remove(job)) {
          commands.add("scontrol release " + quoted(job));
        }
      }
      add(
          Action.Kind.START,
          job,
          nodes,
          cancelled
              ? "job "
                  + job
                  + " was cancelled: submit it again with --nodelist="
                  + quoted(nodes.toString())
              : "job " + job + " starts on " + nodes,
          commands);
    }

    void releaseEvicted() {
      for (String job : evicted) {
        if (held.remove(job)) {
          add(
              Action.Kind.RELEASE,
              job,
              HostList.of(List.of()),
              "job "
                  + job
                  + " waits for room: release it, for any nodes, once the jobs above have started",
              List.of(update(job, ""), "scontrol release " + quoted(job)));
        }
      }
    }

    /** An empty list clears what an earlier plan pinned the job to (scontrol(1)). */
    private static String update(String job, String nodes) {
      return "scontrol update jobid=" + quoted(job) + " reqnodelist=" + quoted(nodes);
    }

    /** A word for a shell; brackets are a pattern to it, and names may hold worse. */
    private static String quoted(String word) {
      return word.matches("[A-Za-z0-9_+.,:-]*") ? word : "'" + word.replace("'", "'\\''") + "'";
    }

    private HostList nodes(String job) {
      return HostList.of(segments(job).values().stream().flatMap(s -> s.nodes().stream()).toList())
          .sorted();
    }

    private void add(
        Action.Kind kind, String job, HostList nodes, String sentence, List<String> commands) {
      actions.add(new Action(actions.size() + 1, kind, job, nodes, sentence, commands));
    }
  }
}
