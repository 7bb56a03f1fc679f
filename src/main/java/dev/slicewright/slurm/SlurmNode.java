package dev.slicewright.slurm;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.slurm.TextTree.Fields;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A node and its state. Immutable, safe to share.
 *
 * @param name its name
 * @param state the state as Slurm wrote it, such as {@code idle}, {@code mixed*} or {@code
 *     IDLE+DRAIN}
 * @param use what that means for planning
 */
public record SlurmNode(String name, String state, Use use) {

  /**
   * What a state means for planning, from best to worst. Immutable, safe to share.
   *
   * <p>Slurm joins a base state and flags; the worst of them counts (sinfo(1), node state codes).
   */
  public enum Use {
    /**
     * Jobs may start: {@code idle}, {@code planned} (kept for a job that waits too, and all that
     * wait are planned anew), and nodes that are powered down or up on demand.
     */
    FREE,
    /** Jobs run on it: {@code allocated}, {@code mixed}, {@code completing}. */
    BUSY,
    /**
     * What runs stays, nothing new: {@code drain}, {@code drained}, {@code draining}, {@code
     * maint}, {@code reserved}, {@code blocked}, {@code powering_down}, {@code reboot}.
     */
    CORDONED,
    /** As cordoned, and expected to fail: {@code failing}. */
    DEGRADED,
    /**
     * Down: {@code down}, {@code fail}, {@code error}, {@code future}, {@code inval}, {@code
     * unknown}, {@code no_respond} and the suffix {@code *}, unless it is powering up.
     */
    FAILED
  }

  private static final Map<String, Use> STATES =
      Map.ofEntries(
          state(Use.FREE, "idle"),
          state(Use.FREE, "planned"),
          state(Use.FREE, "plnd"),
          state(Use.FREE, "cloud"),
          state(Use.FREE, "dynamic_norm"),
          state(Use.FREE, "dynamic_future"),
          state(Use.FREE, "powered_down"),
          state(Use.FREE, "pow_dn"),
          state(Use.FREE, "powering_up"),
          state(Use.FREE, "pow_up"),
          state(Use.FREE, "power_up"),
          state(Use.FREE, "resume"),
          state(Use.BUSY, "allocated"),
          state(Use.BUSY, "alloc"),
          state(Use.BUSY, "mixed"),
          state(Use.BUSY, "mix"),
          state(Use.BUSY, "completing"),
          state(Use.BUSY, "comp"),
          state(Use.CORDONED, "drain"),
          state(Use.CORDONED, "drained"),
          state(Use.CORDONED, "draining"),
          state(Use.CORDONED, "drng"),
          state(Use.CORDONED, "undrain"),
          state(Use.CORDONED, "maint"),
          state(Use.CORDONED, "maintenance"),
          state(Use.CORDONED, "reserved"),
          state(Use.CORDONED, "resv"),
          state(Use.CORDONED, "blocked"),
          state(Use.CORDONED, "perfctrs"),
          state(Use.CORDONED, "npc"),
          state(Use.CORDONED, "powering_down"),
          state(Use.CORDONED, "power_down"),
          state(Use.CORDONED, "power_drain"),
          state(Use.CORDONED, "pow_d"),
          state(Use.CORDONED, "reboot"),
          state(Use.CORDONED, "reboot_requested"),
          state(Use.CORDONED, "reboot_issued"),
          state(Use.CORDONED, "boot"),
          state(Use.DEGRADED, "failing"),
          state(Use.DEGRADED, "failg"),
          state(Use.FAILED, "down"),
          state(Use.FAILED, "fail"),
          state(Use.FAILED, "error"),
          state(Use.FAILED, "err"),
          state(Use.FAILED, "future"),
          state(Use.FAILED, "futr"),
          state(Use.FAILED, "inval"),
          state(Use.FAILED, "invalid_reg"),
          state(Use.FAILED, "unknown"),
          state(Use.FAILED, "unk"),
          state(Use.FAILED, "no_respond"),
          state(Use.FAILED, "not_responding"));

  /** What Slurm also says of every node that it powers up; sinfo then prints no asterisk. */
  private static final Set<String> SILENT = Set.of("no_respond", "not_responding");

  /** What may follow a state without a space, and what it adds. */
  private static final Map<Character, Use> SUFFIXES =
      Map.of(
          '*', Use.FAILED, // does not respond
          '~', Use.FREE, // powered down
          '#', Use.FREE, // powering up
          '!', Use.CORDONED, // will power down
          '%', Use.CORDONED, // powering down
          '$', Use.CORDONED, // in a maintenance reservation
          '@', Use.CORDONED, // will reboot
          '^', Use.CORDONED, // reboots
          '-', Use.FREE, // planned for a job that waits
          '+', Use.BUSY); // some jobs are completing

  private static final Set<String> FIELDS =
      Set.of("nodes", "name", "hostname", "state", "state_flags");

  /** Checks for null. */
  public SlurmNode {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(state, "state");
    Objects.requireNonNull(use, "use");
  }

  /**
   * A node in a state.
   *
   * @param name its name
   * @param state such as {@code idle}, {@code drained*} or {@code IDLE+DRAIN}; case does not matter
   * @return the node
   * @throws InvalidInputException if Slurm has no such state
   */
  public static SlurmNode of(String name, String state) {
    Use use = use(state);
    if (use == null) {
      throw new InvalidInputException("node " + name, "state", unknown(state));
    }
    return new SlurmNode(name, state, use);
  }

  private static Map.Entry<String, Use> state(Use use, String word) {
    return Map.entry(word, use);
  }

  /** The worst of all that a state says, or null if one word is unknown. */
  private static @Nullable Use use(String state) {
    Use worst = Use.FREE;
    boolean any = false;
    List<String> words =
        Arrays.stream(state.toLowerCase(Locale.ROOT).split("\\+", -1)).map(String::strip).toList();
    boolean booting = words.contains("powering_up");
    for (String flag : words) {
      String word = flag;
      while (!word.isEmpty() && SUFFIXES.containsKey(word.charAt(word.length() - 1))) {
        worst = worse(worst, SUFFIXES.get(word.charAt(word.length() - 1)));
        word = word.substring(0, word.length() - 1);
      }
      if (word.isEmpty() || (booting && SILENT.contains(word))) {
        continue; // the plus of "allocated+", or a node that cannot answer yet
      }
      Use use = STATES.get(word);
      if (use == null) {
        return null;
      }
      any = true;
      worst = worse(worst, use);
    }
    return any ? worst : null;
  }

  private static Use worse(Use a, @Nullable Use b) {
    return b == null || a.compareTo(b) >= 0 ? a : b;
  }

  private static String unknown(String state) {
    return "expected a node state of sinfo(1), but was "
        + HostList.quoted(state)
        + "; print it with sinfo -N -h -o \"%N %T\"";
  }

  /**
   * Reads the text of {@code sinfo -h -N -o "%N %T"} or the JSON of {@code scontrol show nodes
   * --json} (or {@code sinfo --json} of nodes). A node that is listed once for each of its
   * partitions counts once, in the worst of its states.
   *
   * @param problems receives what is wrong; a node in an unknown state is taken as failed
   */
  static List<SlurmNode> parse(String text, Problems problems) {
    List<SlurmNode> nodes = new ArrayList<>();
    if (text.stripLeading().startsWith("{")) {
      Fields root = Fields.of(TextTree.json(text, "nodes", FIELDS), "", problems);
      List<?> listed = root == null ? List.of() : root.required("nodes");
      for (int i = 0; i < listed.size(); i++) {
        Fields fields = Fields.of(listed.get(i), "nodes[" + i + "]", problems);
        if (fields != null) {
          String name = fields.text(fields.has("name") ? "name" : "hostname");
          add(nodes, name, words(fields), fields.path("state"), problems);
        }
      }
      return nodes;
    }
    String[] lines = text.split("\n", -1);
    for (int i = 0; i < lines.length; i++) {
      String line = lines[i].strip();
      if (line.isEmpty()) {
        continue;
      }
      String path = "nodes.line " + (i + 1);
      String[] columns = line.split("\\s+", -1);
      if (columns.length != 2) {
        problems.add(
            path,
            "expected a node list and a state, as sinfo -h -N -o \"%N %T\" prints, but was "
                + HostList.quoted(line)
                + "; use that format");
        continue;
      }
      try {
        // One budget for all lines, so that many short ones cannot stand for more than one may.
        if (nodes.size() + HostList.count(columns[0]) > HostList.DEFAULT_LIMIT) {
          problems.add(
              path,
              "expected at most "
                  + HostList.DEFAULT_LIMIT
                  + " nodes in all lines together; the lines from here on were not read: print"
                  + " the nodes of the toruses alone");
          return nodes;
        }
        for (String name : HostList.parse(columns[0]).names()) {
          add(nodes, name, columns[1], path, problems);
        }
      } catch (InvalidInputException e) {
        problems.addAll(path, e);
      }
    }
    return nodes;
  }

  /** The state of a node in JSON: a list of words, or a word and a list of flags. */
  private static String words(Fields fields) {
    List<String> words = new ArrayList<>();
    for (String field : List.of("state", "state_flags")) {
      Object value = fields.get(field);
      if (value instanceof List<?> list) {
        list.forEach(item -> words.add(item.toString()));
      } else if (value != null) {
        words.add(fields.text(field));
      }
    }
    return String.join("+", words);
  }

  private static void add(
      List<SlurmNode> nodes, String name, String state, String path, Problems problems) {
    if (name.isEmpty()) {
      problems.add(path, "expected the name of the node, but there is none; add it");
      return;
    }
    Use use = use(state);
    if (use == null) {
      problems.add(path, unknown(state));
      use = Use.FAILED;
    }
    nodes.add(new SlurmNode(name, state, use));
  }

  @Override
  public String toString() {
    return name + " " + state;
  }

  /** The words of Slurm that are known, for tests. */
  static List<String> knownStates() {
    return Arrays.asList(STATES.keySet().stream().sorted().toArray(String[]::new));
  }
}
