package dev.slicewright.slurm;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.slurm.TextTree.Fields;
import dev.slicewright.topology.Shape;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A job of Slurm's queue, waiting or running. Immutable, safe to share. */
public final class SlurmJob {

  /** What a job's state means for planning. Immutable, safe to share. */
  public enum Phase {
    /** It waits for nodes. */
    PENDING,
    /** It waits for something else: held, at a limit, or until another job or a time. */
    NOT_ELIGIBLE,
    /** It has nodes. */
    RUNNING,
    /** It has nodes and is about to give them back. */
    COMPLETING,
    /** It is over. */
    ENDED
  }

  private static final Map<String, Phase> STATES =
      Map.ofEntries(
          Map.entry("PENDING", Phase.PENDING),
          Map.entry("REQUEUED", Phase.PENDING),
          Map.entry("REQUEUE_FED", Phase.NOT_ELIGIBLE),
          Map.entry("REQUEUE_HOLD", Phase.NOT_ELIGIBLE),
          Map.entry("SPECIAL_EXIT", Phase.NOT_ELIGIBLE),
          Map.entry("RESV_DEL_HOLD", Phase.NOT_ELIGIBLE),
          Map.entry("RUNNING", Phase.RUNNING),
          Map.entry("CONFIGURING", Phase.RUNNING),
          Map.entry("RESIZING", Phase.RUNNING),
          Map.entry("SIGNALING", Phase.RUNNING),
          Map.entry("STOPPED", Phase.RUNNING),
          Map.entry("SUSPENDED", Phase.RUNNING),
          Map.entry("POWER_UP_NODE", Phase.RUNNING),
          Map.entry("COMPLETING", Phase.COMPLETING),
          Map.entry("STAGE_OUT", Phase.COMPLETING),
          Map.entry("BOOT_FAIL", Phase.ENDED),
          Map.entry("CANCELLED", Phase.ENDED),
          Map.entry("COMPLETED", Phase.ENDED),
          Map.entry("DEADLINE", Phase.ENDED),
          Map.entry("FAILED", Phase.ENDED),
          Map.entry("LAUNCH_FAILED", Phase.ENDED),
          Map.entry("NODE_FAIL", Phase.ENDED),
          Map.entry("OUT_OF_MEMORY", Phase.ENDED),
          Map.entry("PREEMPTED", Phase.ENDED),
          Map.entry("RECONFIG_FAIL", Phase.ENDED),
          Map.entry("REVOKED", Phase.ENDED),
          Map.entry("TIMEOUT", Phase.ENDED));

  /** Reasons of {@code squeue %r} for which more nodes would not help. */
  private static final Pattern NOT_FOR_NODES =
      Pattern.compile(
          "JobHeld.*|JobHoldMaxRequeue|.*[ _]held([ _].*)?|.*HoldState.*|Dependency.*|BeginTime"
              + "|JobArrayTaskLimit|Assoc.*|QOS.*|Max.*PerAccount|Invalid(Account|QOS)"
              + "|AccountNotAllowed|Partition(Down|Inactive|NodeLimit|TimeLimit|Config)|Licenses"
              + "|BurstBuffer.*|Reservation.*|DeadLine|Cleaning|FedJobLock");

  private static final Set<String> FIELDS =
      Set.of(
          "jobs",
          "job_id",
          "array_job_id",
          "array_task_id",
          "array_task_string",
          "job_state",
          "state_reason",
          "nodes",
          "node_count",
          "segment_size",
          "priority",
          "user_name",
          "account",
          "partition",
          "time_limit",
          "start_time",
          "requeue",
          "required_nodes",
          "excluded_nodes",
          "het_job_id",
          "het_job_offset",
          "resv_name",
          "number",
          "set",
          "infinite");

  private static final Pattern TIME =
      Pattern.compile("(?:(\\d{1,5})-)?(?:(\\d{1,6}):)?(\\d{1,9}):(\\d{1,2})");

  private final Builder b;

  private SlurmJob(Builder b) {
    this.b = b;
  }

  /**
   * A job that waits, unless the builder is told otherwise.
   *
   * @param id the job id, for tasks of an array with the index: {@code 1234_7}
   * @param nodes how many nodes it asks for, 1 or more
   * @return a new builder
   */
  public static Builder builder(String id, int nodes) {
    return new Builder(id, nodes);
  }

  /**
   * The job id.
   *
   * @return such as {@code 1234} or {@code 1234_7}
   */
  public String id() {
    return b.id;
  }

  /**
   * Whether it waits or runs.
   *
   * @return the phase
   */
  public Phase phase() {
    return b.phase;
  }

  /**
   * How many nodes it asks for or has.
   *
   * @return 1 or more
   */
  public int nodeCount() {
    return b.nodes;
  }

  /**
   * The nodes that it has.
   *
   * @return in Slurm's order; empty if it waits
   */
  public HostList nodes() {
    return b.nodeList;
  }

  /**
   * The nodes of each segment ({@code --segment}).
   *
   * @return 0 for one segment of all its nodes
   */
  public int segment() {
    return b.segment;
  }

  /**
   * The box that each segment wants, where the user says so; Slurm itself knows only its size.
   *
   * @return the extents, or empty for any placement of that size
   */
  public Optional<Shape> dims() {
    return Optional.ofNullable(b.dims);
  }

  /**
   * The priority.
   *
   * @return as Slurm computed it; higher is more important
   */
  public long priority() {
    return b.priority;
  }

  /**
   * The user.
   *
   * @return empty if not known
   */
  public String user() {
    return b.user;
  }

  /**
   * The account that is charged; the tenant of its request.
   *
   * @return empty if not known
   */
  public String account() {
    return b.account;
  }

  /**
   * The Slurm partition.
   *
   * @return empty if not known
   */
  public String partition() {
    return b.partition;
  }

  /**
   * How long it may run.
   *
   * @return the limit, or empty if there is none or it is not known
   */
  public Optional<Duration> timeLimit() {
    return Optional.ofNullable(b.timeLimit);
  }

  /**
   * When it started.
   *
   * @return the time, or empty if it waits or it is not known
   */
  public Optional<Instant> startedAt() {
    return Optional.ofNullable(b.startedAt);
  }

  /**
   * Whether Slurm may put it back into the queue.
   *
   * @return true unless it was submitted with {@code --no-requeue}
   */
  public boolean mayRequeue() {
    return b.requeue;
  }

  /**
   * Whether it asks for certain nodes, excludes some, or asks for a reservation; such a job is not
   * planned.
   *
   * @return true if it does
   */
  public boolean namesNodes() {
    return b.namesNodes || !b.requiredNodes.isEmpty();
  }

  /**
   * The nodes that it must get: those of {@code --nodelist}, or of an earlier plan that pinned it.
   *
   * @return empty if any will do, or it is not known
   */
  public HostList requiredNodes() {
    return b.requiredNodes;
  }

  /** Whether it is one component of a heterogeneous job, which start and end together. */
  boolean isComponent() {
    return b.id.contains("+");
  }

  /**
   * A builder with all that this job has.
   *
   * @return a new builder
   */
  public Builder toBuilder() {
    return b.copy();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof SlurmJob that && b.key().equals(that.b.key());
  }

  @Override
  public int hashCode() {
    return b.key().hashCode();
  }

  @Override
  public String toString() {
    return "job "
        + b.id
        + " "
        + b.phase
        + " "
        + b.nodes
        + " nodes"
        + (b.segment == 0 ? "" : " in segments of " + b.segment)
        + (b.nodeList.isEmpty() ? "" : " " + b.nodeList);
  }

  // ---------------------------------------------------------------- reading

  /**
   * Reads the text of {@code squeue -h -r -o "%i|%T|%r|%D|%Q|%u|%a|%P|%l|%N"}, or the JSON of
   * {@code squeue --json} or {@code scontrol show jobs --json}. Only JSON has segments, start
   * times, and nodes asked for.
   *
   * @param problems receives what is wrong, a line for each; such jobs are not returned
   */
  static List<SlurmJob> parse(String text, Problems problems) {
    List<SlurmJob> jobs = new ArrayList<>();
    Budget budget = new Budget();
    if (text.stripLeading().startsWith("{")) {
      Fields root = Fields.of(TextTree.json(text, "jobs", FIELDS), "", problems);
      List<?> listed = root == null ? List.of() : root.required("jobs");
      for (int i = 0; i < listed.size(); i++) {
        Fields fields = Fields.of(listed.get(i), "jobs[" + i + "]", problems);
        if (fields != null) {
          add(jobs, json(fields), budget, fields.path(""), problems);
        }
      }
      return jobs;
    }
    String[] lines = text.split("\n", -1);
    for (int i = 0; i < lines.length; i++) {
      if (!lines[i].isBlank()) {
        String path = "jobs.line " + (i + 1);
        String[] columns = lines[i].strip().split("\\|", -1);
        if (columns.length == 10) {
          add(jobs, line(columns), budget, path, problems);
        } else {
          problems.add(
              path,
              "expected ten columns, as squeue -h -r -o \"%i|%T|%r|%D|%Q|%u|%a|%P|%l|%N\" prints,"
                  + " but had "
                  + columns.length
                  + "; use that format");
        }
      }
    }
    return jobs;
  }

  /** How many nodes the jobs of one text may still name. Confined to one thread at a time. */
  private static final class Budget {
    private int left = HostList.DEFAULT_LIMIT;

    HostList nodes(String text, String path, Problems problems) {
      try {
        HostList nodes = HostList.parse(text, left);
        left -= nodes.size();
        return nodes;
      } catch (InvalidInputException e) {
        problems.add(path, e.problems().get(0).message());
        return HostList.parse("");
      }
    }
  }

  /** The fields of a job as texts, however they were written; those that are missing are empty. */
  private record Raw(
      String id,
      List<String> states,
      String reason,
      String nodes,
      String nodeList,
      String segment,
      String priority,
      String user,
      String account,
      String partition,
      String limit,
      String start,
      boolean requeue,
      String required,
      boolean namesNodes) {}

  private static Raw line(String[] c) {
    return new Raw(
        c[0],
        List.of(c[1]),
        c[2],
        c[3],
        c[9],
        "",
        c[4],
        c[5],
        c[6],
        c[7],
        c[8],
        "",
        true,
        "",
        false);
  }

  private static Raw json(Fields f) {
    String id = number(f, "job_id");
    String task = number(f, "array_task_id");
    String array = number(f, "array_job_id");
    if (!task.isEmpty() && !array.isEmpty() && !array.equals("0")) {
      id = array + "_" + task;
    } else if (!f.text("array_task_string").isEmpty()) {
      id = id + "_[" + f.text("array_task_string") + "]";
    }
    String leader = number(f, "het_job_id");
    if (!leader.isEmpty() && !leader.equals("0")) {
      id = leader + "+" + number(f, "het_job_offset");
    }
    List<String> states = new ArrayList<>();
    if (f.get("job_state") instanceof List<?> list) {
      list.forEach(state -> states.add(state.toString()));
    } else {
      states.add(f.text("job_state"));
    }
    String limit = number(f, "time_limit"); // minutes
    return new Raw(
        id,
        states,
        f.text("state_reason"),
        number(f, "node_count"),
        f.text("nodes"),
        number(f, "segment_size"),
        number(f, "priority"),
        f.text("user_name"),
        f.text("account"),
        f.text("partition"),
        limit.isEmpty() ? "" : limit + ":00",
        number(f, "start_time"),
        !f.text("requeue").equals("false"),
        nodeList(f, "required_nodes"),
        !nodeList(f, "excluded_nodes").isEmpty() || !f.text("resv_name").isEmpty());
  }

  /** Nodes of Slurm's JSON: a host list, or a list of them. */
  private static String nodeList(Fields f, String field) {
    return f.get(field) instanceof List<?> list
        ? String.join(",", list.stream().map(Object::toString).toList())
        : f.text(field);
  }

  /** A number of Slurm's JSON: plain, or with flags that say whether it is set at all. */
  private static String number(Fields f, String field) {
    if (f.get(field) instanceof Map<?, ?> map) {
      boolean set = !"false".equals(map.get("set")) && !"true".equals(map.get("infinite"));
      return set ? Objects.toString(map.get("number"), "") : "";
    }
    return f.text(field);
  }

  private static void add(
      List<SlurmJob> jobs, Raw raw, Budget budget, String where, Problems problems) {
    String path = raw.id.isEmpty() ? where : "Job/" + raw.id;
    Problems own = new Problems();
    Phase phase = phase(raw, path, own);
    boolean gaveAllBack = phase == Phase.COMPLETING && raw.nodeList.isEmpty();
    if ((phase == Phase.ENDED || gaveAllBack) && own.isEmpty()) {
      return;
    }
    HostList nodes = budget.nodes(raw.nodeList, path + ".nodes", own);
    HostList required = budget.nodes(raw.required, path + ".required_nodes", own);
    boolean placed = phase == Phase.RUNNING || phase == Phase.COMPLETING;
    long count =
        placed && !nodes.isEmpty()
            ? nodes.size()
            : whole(raw.nodes, path + ".node_count", own, 1, Integer.MAX_VALUE);
    long segment =
        raw.segment.isEmpty()
            ? 0
            : whole(raw.segment, path + ".segment_size", own, 0, Integer.MAX_VALUE);
    long priority =
        raw.priority.isEmpty() ? 0 : whole(raw.priority, path + ".priority", own, 0, 1L << 40);
    Duration limit = limit(raw.limit, path, own);
    long start = raw.start.isEmpty() ? 0 : whole(raw.start, path + ".start_time", own, 0, 1L << 40);
    for (Problem problem : own.list()) {
      problems.add(problem.path(), problem.message());
    }
    if (!own.isEmpty()) {
      return;
    }
    try {
      jobs.add(
          builder(raw.id, (int) count)
              .phase(phase)
              .nodes(placed ? nodes : HostList.parse(""))
              .segment((int) segment)
              .priority(priority)
              .user(raw.user)
              .account(raw.account)
              .partition(raw.partition)
              .timeLimit(limit)
              .startedAt(placed && start > 0 ? Instant.ofEpochSecond(start) : null)
              .mayRequeue(raw.requeue)
              .requiredNodes(required)
              .namesNodes(raw.namesNodes)
              .build());
    } catch (InvalidInputException e) {
      problems.addAll(path, e);
    }
  }

  private static Phase phase(Raw raw, String path, Problems problems) {
    Phase last = Phase.PENDING;
    boolean any = false;
    for (String state : raw.states) {
      Phase phase = STATES.get(state.toUpperCase(Locale.ROOT));
      if (phase == null) {
        problems.add(
            path + ".job_state",
            "expected a job state of squeue(1), but was "
                + HostList.quoted(state)
                + "; print it with squeue -o %T");
        return Phase.ENDED;
      }
      last = any && last.compareTo(phase) > 0 && last != Phase.ENDED ? last : phase;
      any = true;
    }
    if (raw.states.stream().anyMatch(s -> s.equalsIgnoreCase("COMPLETING"))) {
      return Phase.COMPLETING; // has nodes still, whatever its result
    }
    return last == Phase.PENDING && NOT_FOR_NODES.matcher(raw.reason).matches()
        ? Phase.NOT_ELIGIBLE
        : last;
  }

  private static long whole(String text, String path, Problems problems, long low, long high) {
    if (text.matches("[0-9]{1,15}")) {
      long value = Long.parseLong(text);
      if (value >= low && value <= high) {
        return value;
      }
    }
    problems.add(
        path,
        "expected a whole number from "
            + low
            + " to "
            + high
            + ", but was "
            + HostList.quoted(text)
            + "; correct it");
    return low;
  }

  /** Days-hours:minutes:seconds, or a word for no limit. */
  private static @Nullable Duration limit(String text, String path, Problems problems) {
    Matcher time = TIME.matcher(text);
    if (time.matches()) {
      return Duration.ofDays(part(time, 1))
          .plusHours(part(time, 2))
          .plusMinutes(part(time, 3))
          .plusSeconds(part(time, 4));
    }
    if (!Set.of("", "UNLIMITED", "NOT_SET", "INVALID", "PARTITION_LIMIT", "N/A")
        .contains(text.toUpperCase(Locale.ROOT))) {
      problems.add(
          path + ".time_limit",
          "expected DAYS-HOURS:MINUTES:SECONDS or UNLIMITED, but was "
              + HostList.quoted(text)
              + "; correct it");
    }
    return null;
  }

  private static int part(Matcher time, int group) {
    return time.group(group) == null ? 0 : Integer.parseInt(time.group(group));
  }

  /** Builds a {@link SlurmJob}. Confined to one thread at a time. */
  public static final class Builder {
    private final String id;
    private final int nodes;
    private Phase phase = Phase.PENDING;
    private HostList nodeList = HostList.parse("");
    private int segment;
    private @Nullable Shape dims;
    private long priority;
    private String user = "";
    private String account = "";
    private String partition = "";
    private @Nullable Duration timeLimit;
    private @Nullable Instant startedAt;
    private boolean requeue = true;
    private HostList requiredNodes = HostList.parse("");
    private boolean namesNodes;

    private Builder(String id, int nodes) {
      this.id = Objects.requireNonNull(id, "id");
      this.nodes = nodes;
    }

    private Builder copy() {
      return new Builder(id, nodes)
          .phase(phase)
          .nodes(nodeList)
          .segment(segment)
          .dims(dims)
          .priority(priority)
          .user(user)
          .account(account)
          .partition(partition)
          .timeLimit(timeLimit)
          .startedAt(startedAt)
          .mayRequeue(requeue)
          .requiredNodes(requiredNodes)
          .namesNodes(namesNodes);
    }

    private List<Object> key() {
      return List.of(
          id,
          nodes,
          phase,
          nodeList,
          segment,
          Optional.ofNullable(dims),
          priority,
          user,
          account,
          partition,
          Optional.ofNullable(timeLimit),
          Optional.ofNullable(startedAt),
          requeue,
          requiredNodes,
          namesNodes);
    }

    /**
     * Sets whether it waits or runs.
     *
     * @param value {@link Phase#PENDING} by default
     * @return this
     */
    public Builder phase(Phase value) {
      phase = Objects.requireNonNull(value, "phase");
      return this;
    }

    /**
     * Sets the nodes that it has.
     *
     * @param value as many as it asks for
     * @return this
     */
    public Builder nodes(HostList value) {
      nodeList = Objects.requireNonNull(value, "nodes");
      return this;
    }

    /**
     * Makes it a running job.
     *
     * @param value the nodes that it has, as a host list expression
     * @return this
     */
    public Builder runningOn(String value) {
      return phase(Phase.RUNNING).nodes(HostList.parse(value));
    }

    /**
     * Sets the nodes of each segment.
     *
     * @param value a divisor of its nodes, or 0 for one segment
     * @return this
     */
    public Builder segment(int value) {
      segment = value;
      return this;
    }

    /**
     * Sets the box that each segment wants.
     *
     * @param value three extents as one of the placements lists them, or null for any
     * @return this
     */
    public Builder dims(@Nullable Shape value) {
      dims = value;
      return this;
    }

    /**
     * Sets the priority.
     *
     * @param value higher is more important
     * @return this
     */
    public Builder priority(long value) {
      priority = value;
      return this;
    }

    /**
     * Sets the user.
     *
     * @param value empty if not known
     * @return this
     */
    public Builder user(String value) {
      user = Objects.requireNonNull(value, "user");
      return this;
    }

    /**
     * Sets the account.
     *
     * @param value empty if not known
     * @return this
     */
    public Builder account(String value) {
      account = Objects.requireNonNull(value, "account");
      return this;
    }

    /**
     * Sets the Slurm partition.
     *
     * @param value empty if not known
     * @return this
     */
    public Builder partition(String value) {
      partition = Objects.requireNonNull(value, "partition");
      return this;
    }

    /**
     * Sets how long it may run.
     *
     * @param value 0 or more, or null for no limit
     * @return this
     */
    public Builder timeLimit(@Nullable Duration value) {
      timeLimit = value;
      return this;
    }

    /**
     * Sets when it started.
     *
     * @param value the time, or null if not known
     * @return this
     */
    public Builder startedAt(@Nullable Instant value) {
      startedAt = value;
      return this;
    }

    /**
     * Sets whether Slurm may put it back into the queue.
     *
     * @param value true by default
     * @return this
     */
    public Builder mayRequeue(boolean value) {
      requeue = value;
      return this;
    }

    /**
     * Sets the nodes that it must get.
     *
     * @param value none by default
     * @return this
     */
    public Builder requiredNodes(HostList value) {
      requiredNodes = Objects.requireNonNull(value, "requiredNodes");
      return this;
    }

    /**
     * Sets whether it asks for or excludes certain nodes, or asks for a reservation.
     *
     * @param value false by default
     * @return this
     */
    public Builder namesNodes(boolean value) {
      namesNodes = value;
      return this;
    }

    /**
     * Checks and builds.
     *
     * @return the job
     * @throws InvalidInputException listing every problem
     */
    public SlurmJob build() {
      Problems problems = new Problems();
      if (!id.matches("[0-9A-Za-z_+.\\-\\[\\],%:]{1,200}")) {
        problems.add(
            "id", "expected a job id such as 1234 or 1234_7, but was " + HostList.quoted(id));
      }
      boolean placed = phase == Phase.RUNNING || phase == Phase.COMPLETING;
      if (nodes < 1) {
        problems.add("nodes", "expected 1 or more, but was " + nodes);
      }
      if (placed ? nodeList.size() != nodes : !nodeList.isEmpty()) {
        problems.add(
            "nodes",
            placed
                ? "expected the " + nodes + " nodes that it has, but were " + nodeList.size()
                : "expected none, since it does not run, but was " + nodeList);
      }
      if (segment < 0) {
        problems.add("segment", "expected 0 or more, but was " + segment);
      }
      if (dims != null && (dims.rank() != 3 || dims.chips() != (segment > 0 ? segment : nodes))) {
        problems.add(
            "dims",
            "expected three extents of as many nodes as the job or segment has, but was " + dims);
      }
      if (timeLimit != null && timeLimit.isNegative()) {
        problems.add("timeLimit", "expected 0 or more, but was " + timeLimit);
      }
      problems.throwIfAny("job " + id);
      return new SlurmJob(copy());
    }
  }
}
