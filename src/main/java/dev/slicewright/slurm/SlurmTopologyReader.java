package dev.slicewright.slurm;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.slurm.TextTree.Fields;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads {@code topology.yaml} of Slurm 26.05 with {@code topology/torus3d}. Immutable, safe to
 * share.
 *
 * <p>Of a file with several topologies one is read, since they may name the same nodes: the one
 * asked for with {@link #topology}, else the cluster's default if it is a torus3d, else the first
 * that is. The others are named in {@link SlurmCluster#leftOut()}, as are those of other plugins.
 *
 * <p>Every rule by which slurmctld refuses the file is a {@link dev.slicewright.Problem}: a torus
 * without name, dimensions or enough nodes; regions that leave the torus, overlap, or have the
 * wrong number of nodes; placements, seeds and spacings larger than the torus; toruses that share a
 * name or a node; fields that Slurm does not know. Strict, the default, throws them all; {@link
 * Builder#lenient} keeps each torus that can be mapped, without the regions and placements that are
 * wrong. A torus without nodes, to which nodes are added while Slurm runs, is left out.
 *
 * <p>YAML aliases, equal keys, more than 32 levels and more than 64 MiB of text are refused, as are
 * toruses of more than 2^22 cells, and placements of more than 2^24 anchors, in all. Needs {@code
 * jackson-dataformat-yaml}.
 */
public final class SlurmTopologyReader {

  private static final String[] PLUGINS = {"torus3d", "tree", "block", "flat", "ring"};
  private static final int MAX_EXTENT = 65_535; // 16 bits in Slurm
  private static final long MAX_CELLS = 1 << 22; // of all toruses: one as large as a pod may be
  private static final long MAX_ANCHORS = 1 << 24; // of all placements

  private final boolean lenient;
  private final String topology;
  private final SlurmCluster.Settings settings;

  private SlurmTopologyReader(String topology, SlurmCluster.Settings settings) {
    this.lenient = settings.lenient();
    this.topology = topology;
    this.settings = settings;
  }

  /**
   * A strict reader of the cluster's default topology, or the first torus3d.
   *
   * @return a reader
   */
  public static SlurmTopologyReader create() {
    return builder().build();
  }

  /**
   * A builder.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Reads a topology.
   *
   * @param yaml the text of {@code topology.yaml}
   * @return the cluster with every node free and no jobs
   * @throws InvalidInputException if strict, listing every problem; if lenient, only where the text
   *     is not YAML or has no torus3d topology that can be read
   */
  public SlurmCluster read(String yaml) {
    Object root = TextTree.yaml(Objects.requireNonNull(yaml, "yaml"), "topology.yaml");
    Problems problems = new Problems();
    List<SlurmLeftOut> leftOut = new ArrayList<>();
    if (!(root instanceof List<?> listed)) {
      problems.add("", "expected a list of topologies; begin with \"- topology: NAME\"");
      problems.throwIfAny("topology.yaml");
      throw new AssertionError();
    }
    Chosen chosen = choose(listed, problems, leftOut);
    List<SlurmTorus> toruses =
        chosen == null ? List.of() : new Reading(problems, leftOut).toruses(chosen);
    if (!lenient || toruses.isEmpty()) {
      if (problems.isEmpty() && toruses.isEmpty()) {
        problems.add(
            "",
            topology.isEmpty()
                ? "expected a topology with torus3d, but there is none: "
                    + leftOut
                    + "; pass the file of a torus"
                : "expected a torus3d topology named "
                    + HostList.quoted(topology)
                    + ", but there is none: "
                    + leftOut
                    + "; choose another");
      }
      problems.throwIfAny("topology.yaml");
    }
    return SlurmCluster.of(
        Objects.requireNonNull(chosen).name, toruses, settings, problems.list(), leftOut);
  }

  private record Chosen(String name, Fields torus3d) {}

  /** The topology to read; the others are left out, each named. */
  private @Nullable Chosen choose(List<?> listed, Problems problems, List<SlurmLeftOut> leftOut) {
    Map<String, Fields> torus = new LinkedHashMap<>();
    Set<String> names = new HashSet<>();
    String byDefault = "";
    String first = "";
    for (int i = 0; i < listed.size(); i++) {
      Fields fields = Fields.of(listed.get(i), "topologies[" + i + "]", problems);
      if (fields == null) {
        continue;
      }
      fields.allow("topology", "cluster_default", "torus3d", "tree", "block", "flat", "ring");
      String name = fields.text("topology");
      if (name.isEmpty() || !names.add(name)) {
        fields.problem(
            "topology",
            "expected a name of its own, but was " + HostList.quoted(name) + "; choose another");
        continue;
      }
      List<String> plugins = Arrays.stream(PLUGINS).filter(fields::has).toList();
      if (plugins.size() != 1) {
        fields.problem(
            "topology",
            "expected exactly one of "
                + String.join(", ", PLUGINS)
                + " in "
                + name
                + ", but was "
                + (plugins.isEmpty() ? "none" : String.join(" and ", plugins))
                + "; split it");
        continue;
      }
      boolean isDefault = isTrue(fields) && byDefault.isEmpty();
      if (isDefault) {
        byDefault = name;
      }
      if (!plugins.get(0).equals("torus3d")) {
        leftOut.add(
            new SlurmLeftOut(
                "topology " + name, "uses topology/" + plugins.get(0) + ", not a torus."));
        continue;
      }
      first = first.isEmpty() ? name : first;
      Fields inner = Fields.of(fields.get("torus3d"), fields.path("torus3d"), problems);
      if (inner != null) {
        torus.put(name, inner);
      }
    }
    String pick = !topology.isEmpty() ? topology : torus.containsKey(byDefault) ? byDefault : first;
    Fields picked = torus.remove(pick);
    for (String other : torus.keySet()) {
      leftOut.add(
          new SlurmLeftOut(
              "topology " + other,
              picked == null
                  ? "is not the one asked for, " + pick + "."
                  : "is another torus3d topology; "
                      + pick
                      + " was read, as nodes may be in both."));
    }
    return picked == null ? null : new Chosen(pick, picked);
  }

  private static boolean isTrue(Fields fields) {
    String text = fields.text("cluster_default").toLowerCase(Locale.ROOT);
    if (!List.of("", "true", "false", "yes", "no", "on", "off").contains(text)) {
      fields.problem(
          "cluster_default",
          "expected true or false, but was " + HostList.quoted(text) + "; correct it");
    }
    return List.of("true", "yes", "on").contains(text);
  }

  /** Reads the toruses of one topology. */
  private static final class Reading {
    private final Problems problems;
    private final List<SlurmLeftOut> leftOut;
    private final Map<String, String> torusOf = new LinkedHashMap<>(); // node to torus
    private final Set<String> names = new HashSet<>();
    private long cells;
    private long anchors;

    Reading(Problems problems, List<SlurmLeftOut> leftOut) {
      this.problems = problems;
      this.leftOut = leftOut;
    }

    List<SlurmTorus> toruses(Chosen chosen) {
      Fields torus3d = chosen.torus3d;
      torus3d.allow("toruses");
      List<?> listed = torus3d.list("toruses");
      if (listed.isEmpty()) {
        torus3d.problem("toruses", "expected one torus or more; list them");
      }
      List<SlurmTorus> toruses = new ArrayList<>();
      for (int i = 0; i < listed.size(); i++) {
        String path = torus3d.path("toruses[" + i + "]");
        Fields fields = Fields.of(listed.get(i), path, problems);
        if (fields != null && !fields.has("nodes") && fields.list("regions").isEmpty()) {
          leftOut.add(
              new SlurmLeftOut(
                  path, "has no nodes yet; write out the topology once they have been added."));
          continue;
        }
        SlurmTorus torus = fields == null ? null : torus(fields, path);
        if (torus == null) {
          leftOut.add(new SlurmLeftOut(path, "is no torus that can be mapped; see the problems."));
        } else {
          toruses.add(torus);
        }
      }
      return toruses;
    }

    private @Nullable SlurmTorus torus(Fields fields, String path) {
      fields.allow("name", "dims", "nodes", "regions", "placements");
      String name = fields.text("name");
      boolean named = !name.isEmpty() && names.add(name);
      if (!named) {
        fields.problem(
            "name",
            "expected a name of its own, but was " + HostList.quoted(name) + "; choose another");
      }
      Shape dims = shape(fields, "dims", MAX_EXTENT);
      if (dims == null || !named || !fitsModel(fields, dims)) {
        return null;
      }
      String[] cells = cells(fields, path, dims);
      List<TorusPlacement> placements = placements(fields, path, dims);
      if (cells == null) {
        return null;
      }
      for (int i = 0; i < cells.length; i++) {
        String other = cells[i].isEmpty() ? null : torusOf.putIfAbsent(cells[i], name);
        if (other != null) {
          fields.problem(
              fields.has("regions") ? "regions" : "nodes",
              "expected each node in one cell, but "
                  + cells[i]
                  + (other.equals(name) ? " is named twice" : " is in torus " + other + " too")
                  + "; name it once");
          cells[i] = "";
        }
      }
      if (Arrays.stream(cells).allMatch(String::isEmpty)) {
        fields.problem("nodes", "expected nodes, but no cell has one; list them");
        return null;
      }
      return new SlurmTorus(name, dims, Arrays.asList(cells), placements);
    }

    private boolean fitsModel(Fields fields, Shape dims) {
      cells += dims.chips();
      if (cells > MAX_CELLS) {
        fields.problem(
            "dims",
            "expected at most "
                + MAX_CELLS
                + " cells in all toruses together, a limit of this library; plan fewer toruses at"
                + " a time");
        return false;
      }
      Optional<String> why = SlurmTorus.whyTooLarge(dims);
      why.ifPresent(message -> fields.problem("dims", message));
      return why.isEmpty();
    }

    /** The node of each cell, or null if they cannot be told. */
    private String @Nullable [] cells(Fields fields, String path, Shape dims) {
      String[] cells = new String[(int) dims.chips()];
      Arrays.fill(cells, "");
      List<?> regions = fields.list("regions");
      if (fields.has("nodes") && !regions.isEmpty()) {
        fields.problem("nodes", "expected either nodes or regions, but both are given; drop one");
        return null;
      }
      if (regions.isEmpty()) {
        List<String> nodes = nodes(fields, cells.length, "the torus of " + dims);
        return nodes == null ? null : nodes.toArray(new String[0]);
      }
      for (int i = 0; i < regions.size(); i++) {
        Fields region = Fields.of(regions.get(i), path + ".regions[" + i + "]", problems);
        if (region != null) {
          region(region, dims, cells);
        }
      }
      return cells;
    }

    private void region(Fields region, Shape torus, String[] cells) {
      region.allow("anchor", "dims", "nodes");
      Chip anchor = chip(region, "anchor");
      Shape dims = shape(region, "dims", MAX_EXTENT);
      if (anchor == null || dims == null) {
        return;
      }
      for (Axis axis : Axis.values()) {
        if (anchor.get(axis) + dims.get(axis) > torus.get(axis)) {
          region.problem(
              "dims",
              "expected a region inside the torus of "
                  + torus
                  + ", for regions do not wrap, but "
                  + dims
                  + " at "
                  + anchor
                  + " leaves it along "
                  + axis
                  + "; split it");
          return;
        }
      }
      List<String> nodes = nodes(region, (int) dims.chips(), "the region of " + dims);
      if (nodes == null) {
        return;
      }
      int[] at = new TorusBox(anchor, dims).cells(torus);
      for (int i = 0; i < at.length; i++) {
        if (!cells[at[i]].isEmpty()) {
          region.problem(
              "anchor",
              "expected regions that do not overlap, but "
                  + nodes.get(i)
                  + " would be in the cell of "
                  + cells[at[i]]
                  + "; move the region");
          return;
        }
      }
      for (int i = 0; i < at.length; i++) {
        cells[at[i]] = nodes.get(i);
      }
    }

    /** A host list of exactly so many nodes, or null and a problem. */
    private @Nullable List<String> nodes(Fields fields, int expected, String of) {
      String text;
      if (fields.get("nodes") instanceof List<?> list) {
        text = String.join(",", list.stream().map(Object::toString).toList());
      } else {
        text = fields.text("nodes");
      }
      try {
        long count = HostList.count(text);
        if (count == expected) {
          return HostList.parse(text, expected).names();
        }
        fields.problem(
            "nodes",
            "expected "
                + expected
                + " nodes, one for each cell of "
                + of
                + ", but was "
                + count
                + "; correct the list or the dimensions");
      } catch (InvalidInputException e) {
        fields.problem("nodes", e.problems().get(0).message());
      }
      return null;
    }

    private List<TorusPlacement> placements(Fields fields, String path, Shape torus) {
      List<TorusPlacement> placements = new ArrayList<>();
      List<?> listed = fields.list("placements");
      for (int i = 0; i < listed.size(); i++) {
        Fields entry = Fields.of(listed.get(i), path + ".placements[" + i + "]", problems);
        TorusPlacement placement = entry == null ? null : placement(entry, torus);
        if (entry == null || placement == null) {
          continue;
        }
        anchors += placement.anchorCount(torus);
        if (anchors > MAX_ANCHORS) {
          entry.problem(
              "anchor_spacing",
              "expected at most "
                  + MAX_ANCHORS
                  + " anchors in all placements together, a limit of this library; list fewer"
                  + " placements, or space them wider");
          break;
        }
        placements.add(placement);
      }
      return placements;
    }

    private @Nullable TorusPlacement placement(Fields entry, Shape torus) {
      entry.allow("dims", "anchor_seed", "anchor_spacing");
      Shape dims = shape(entry, "dims", MAX_EXTENT);
      Chip seed = entry.has("anchor_seed") ? chip(entry, "anchor_seed") : new Chip(0, 0, 0);
      if (dims == null || seed == null) {
        return null;
      }
      Shape spacing = spacing(entry, dims);
      if (spacing == null) {
        return null;
      }
      boolean sound = true;
      for (Axis axis : Axis.values()) {
        int length = torus.get(axis);
        if (dims.get(axis) > length) {
          outside(entry, "dims", axis, dims.get(axis), length);
          sound = false;
        } else if (spacing.get(axis) > length) {
          outside(entry, "anchor_spacing", axis, spacing.get(axis), length);
          sound = false;
        }
        if (seed.get(axis) >= length) {
          outside(entry, "anchor_seed", axis, seed.get(axis), length - 1);
          sound = false;
        }
      }
      return sound ? new TorusPlacement(dims, seed, spacing) : null;
    }

    private static void outside(Fields entry, String field, Axis axis, int value, int most) {
      entry.problem(
          field + "." + axis.name().toLowerCase(Locale.ROOT),
          "expected at most " + most + ", inside the torus, but was " + value + "; correct it");
    }

    /** Each component that is 0 or absent is that of the dimensions. */
    private @Nullable Shape spacing(Fields entry, Shape dims) {
      if (!entry.has("anchor_spacing")) {
        return dims;
      }
      Fields fields =
          Fields.of(entry.get("anchor_spacing"), entry.path("anchor_spacing"), problems);
      if (fields == null) {
        return null;
      }
      int[] given = coordinates(fields, 0, true);
      if (given == null) {
        return null;
      }
      return Shape.of(
          given[0] == 0 ? dims.x() : given[0],
          given[1] == 0 ? dims.y() : given[1],
          given[2] == 0 ? dims.z() : given[2]);
    }

    private @Nullable Shape shape(Fields fields, String field, int limit) {
      Fields inner = Fields.of(fields.get(field), fields.path(field), problems);
      int[] given = inner == null ? null : coordinates(inner, 1, false);
      if (given == null) {
        return null;
      }
      long size = (long) given[0] * given[1] * given[2];
      if (size > 1 << 28 || Math.max(given[0], Math.max(given[1], given[2])) > limit) {
        fields.problem(
            field, "expected at most 2^28 cells, but was " + size + "; correct the dimensions");
        return null;
      }
      return Shape.of(given[0], given[1], given[2]);
    }

    private @Nullable Chip chip(Fields fields, String field) {
      Fields inner = Fields.of(fields.get(field), fields.path(field), problems);
      int[] given = inner == null ? null : coordinates(inner, 0, true);
      return given == null ? null : new Chip(given[0], given[1], given[2]);
    }

    private static int @Nullable [] coordinates(Fields fields, int low, boolean mayBeAbsent) {
      fields.allow("x", "y", "z");
      int[] given = new int[3];
      boolean sound = true;
      for (Axis axis : Axis.values()) {
        String field = axis.name().toLowerCase(Locale.ROOT);
        if (!mayBeAbsent || fields.has(field)) {
          given[axis.ordinal()] = fields.number(field, low, MAX_EXTENT);
          sound &= given[axis.ordinal()] >= 0;
        }
      }
      return sound ? given : null;
    }
  }

  /** Builds a {@link SlurmTopologyReader}. Confined to one thread at a time. */
  public static final class Builder {
    private boolean lenient;
    private String topology = "";
    private String accelerator = "torus3d";
    private boolean anyAnchor;
    private Set<String> partitions = Set.of();

    private Builder() {}

    /**
     * Sets whether what is sound is read though other things are wrong, here and when nodes and
     * jobs are added. What is wrong is then in {@link SlurmCluster#problems}, and what is not
     * represented in {@link SlurmCluster#leftOut}.
     *
     * @param value false by default
     * @return this
     */
    public Builder lenient(boolean value) {
      lenient = value;
      return this;
    }

    /**
     * Chooses the topology to read.
     *
     * @param name its name; empty, the default, for the cluster's default, or the first torus3d
     * @return this
     */
    public Builder topology(String name) {
      topology = Objects.requireNonNull(name, "name");
      return this;
    }

    /**
     * Names the accelerator of the pods, for requests that ask for one.
     *
     * @param name lower case letters, digits, '-', '_' and '.'; the default is {@code torus3d}
     * @return this
     */
    public Builder accelerator(String name) {
      accelerator = Objects.requireNonNull(name, "name");
      return this;
    }

    /**
     * Lets boxes begin anywhere where the anchors cannot be modelled exactly ({@link
     * SlurmModel#ANY_ANCHOR} instead of {@link SlurmModel#SOME_ANCHORS}). A plan may then hold
     * boxes that Slurm refuses; {@link SlurmPlan#problems()} names them.
     *
     * @param value false by default
     * @return this
     */
    public Builder anyAnchor(boolean value) {
      anyAnchor = value;
      return this;
    }

    /**
     * Restricts waiting jobs to those of some Slurm partitions: the ones that use this topology.
     * Jobs that run count in any case.
     *
     * @param names partition names; none, the default, for all
     * @return this
     */
    public Builder partitions(String... names) {
      partitions = Set.copyOf(Arrays.asList(names));
      return this;
    }

    /**
     * Builds the reader.
     *
     * @return a reader
     */
    public SlurmTopologyReader build() {
      return new SlurmTopologyReader(
          topology, new SlurmCluster.Settings(lenient, accelerator, anyAnchor, partitions));
    }
  }
}
