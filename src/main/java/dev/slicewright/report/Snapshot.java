package dev.slicewright.report;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A fleet, requests, rules, cost terms and a plan as one JSON document that people can write too.
 * Immutable, safe to share.
 *
 * <pre>{@code
 * {
 *   "format": "slicewright/snapshot",
 *   "version": 1,
 *   "fleet": {
 *     "pods": [
 *       {"id": "us-east5-a/1", "topology": "v5p", "failed": [{"host": 17}]},
 *       {"id": "lab", "topology": "16x20x28", "labels": {"zone": "x"}, "cordons": [{"chip": [0, 0, 3]}]}
 *     ],
 *     "running": [
 *       {
 *         "request": {"id": "old", "shape": "4x4x8", "priority": 10},
 *         "slices": [{"pod": "us-east5-a/1", "cubes": [3, 77]}]
 *       }
 *     ]
 *   },
 *   "requests": [{"id": "train", "shape": "8x8x16", "slices": 2}, {"id": "eval", "chips": 32}],
 *   "rules": {"now": "2026-03-01T12:00:00Z", "quotas": [{"tenant": "red", "chips": 512}]}
 * }
 * }</pre>
 *
 * <p>What is left out has its default. A topology is the name of a published accelerator, the
 * dimensions of a torus, or an object. A running slice stands on {@code cubes}, a {@code
 * partition}, or a box with an {@code origin} (and {@code extents}, where turned). Hosts and cubes
 * are numbers, or names on pods that have them. Enum words are the constants in lower case with
 * hyphens.
 *
 * <p>What was written reads back equal; the one thing that no document holds is a {@code
 * HealthPolicy} of your own: a fleet that is read has the standard one. Writing needs no other
 * library; reading needs {@code tools.jackson.core:jackson-databind}, an optional dependency, and
 * throws a {@link JacksonMissingException} without it.
 *
 * <p>Reading refuses, with every problem and its path, anything but exactly this: another version,
 * unknown fields, names that stand twice, wrong types, numbers out of range, what the values
 * themselves refuse (overlapping slices, unknown pods), text behind the end; documents longer than
 * the limit, of more than 8,000,000 values, nested deeper than 32, with strings above 65,536
 * characters or numbers above 60 digits. Nothing is half read.
 */
public final class Snapshot {

  /** What the field {@code format} of every document says. */
  public static final String FORMAT = "slicewright/snapshot";

  /** What the field {@code version} of every document says: raised when the format changes. */
  public static final int VERSION = 1;

  /** The longest document that is read where no limit is given: 64 Mi characters. */
  public static final long MAX_LENGTH = 64L << 20;

  /**
   * Thrown where a document is read and Jackson is not on the class path. Immutable, safe to share.
   */
  public static final class JacksonMissingException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    private JacksonMissingException(Throwable cause) {
      super(
          "Reading snapshots needs Jackson, but its classes were not found: "
              + cause.getMessage()
              + ". Add tools.jackson.core:jackson-databind (3.2 or newer) to your dependencies.",
          cause);
    }
  }

  private final Fleet fleet;
  private final List<SliceRequest> requests;
  private final PlanningRules rules;
  private final CostTerms cost;
  private final @Nullable Plan plan;

  private Snapshot(
      Fleet fleet,
      List<SliceRequest> requests,
      PlanningRules rules,
      CostTerms cost,
      @Nullable Plan plan) {
    this.fleet = Objects.requireNonNull(fleet, "fleet");
    this.requests = List.copyOf(requests);
    this.rules = Objects.requireNonNull(rules, "rules");
    this.cost = Objects.requireNonNull(cost, "cost");
    this.plan = plan;
  }

  /**
   * A snapshot of a fleet and requests, with no rules, the default cost terms and no plan.
   *
   * @param fleet the fleet; one without pods where there is none to keep
   * @param requests the requests, perhaps none
   * @return the snapshot
   */
  public static Snapshot of(Fleet fleet, List<SliceRequest> requests) {
    return new Snapshot(fleet, requests, PlanningRules.NONE, CostTerms.DEFAULT, null);
  }

  /**
   * The same with other rules.
   *
   * @param value the rules
   * @return the changed snapshot
   */
  public Snapshot withRules(PlanningRules value) {
    return new Snapshot(fleet, requests, value, cost, plan);
  }

  /**
   * The same with other cost terms.
   *
   * @param value the cost terms
   * @return the changed snapshot
   */
  public Snapshot withCost(CostTerms value) {
    return new Snapshot(fleet, requests, rules, value, plan);
  }

  /**
   * The same with a plan.
   *
   * @param value the plan
   * @return the changed snapshot
   */
  public Snapshot withPlan(Plan value) {
    return new Snapshot(fleet, requests, rules, cost, Objects.requireNonNull(value, "plan"));
  }

  /**
   * The fleet.
   *
   * @return a fleet without pods if the document has none
   */
  public Fleet fleet() {
    return fleet;
  }

  /**
   * The requests.
   *
   * @return an unmodifiable list in the order given, perhaps empty
   */
  public List<SliceRequest> requests() {
    return requests;
  }

  /**
   * The rules.
   *
   * @return {@link PlanningRules#NONE} if the document has none
   */
  public PlanningRules rules() {
    return rules;
  }

  /**
   * The cost terms.
   *
   * @return {@link CostTerms#DEFAULT} if the document has none
   */
  public CostTerms cost() {
    return cost;
  }

  /**
   * The plan.
   *
   * @return the plan, or empty
   */
  public Optional<Plan> plan() {
    return Optional.ofNullable(plan);
  }

  // ---------------------------------------------------------------- writing

  /**
   * Writes the document: indented, in a fixed order, the same text for equal snapshots whose fleets
   * have the same version.
   *
   * @return JSON, ended by a line feed
   */
  public String toJson() {
    return JsonText.of(SnapshotWriter.tree(this));
  }

  /**
   * Writes the document, as {@link #toJson}.
   *
   * @param out where to; neither closed nor flushed
   * @throws IOException if writing fails
   */
  public void writeTo(Appendable out) throws IOException {
    out.append(toJson());
  }

  // ---------------------------------------------------------------- reading

  /**
   * Reads a document of at most {@link #MAX_LENGTH} characters.
   *
   * @param json the document
   * @return the snapshot
   * @throws InvalidInputException listing every problem that one pass can find
   * @throws JacksonMissingException if Jackson is not on the class path
   */
  public static Snapshot read(String json) {
    try {
      return read(new StringReader(json), MAX_LENGTH);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // not from a string
    }
  }

  /**
   * Reads a document of at most {@link #MAX_LENGTH} characters.
   *
   * @param in the document in UTF-8; read to its end or to the limit, and closed
   * @return the snapshot
   * @throws IOException if reading fails
   * @throws InvalidInputException listing every problem that one pass can find
   * @throws JacksonMissingException if Jackson is not on the class path
   */
  public static Snapshot read(InputStream in) throws IOException {
    Objects.requireNonNull(in, "in");
    return read(
        new InputStreamReader(
            in,
            StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT)),
        MAX_LENGTH);
  }

  /**
   * Reads a document.
   *
   * @param in the document; read to its end or to the limit, and closed
   * @param maxLength the most characters to read, 1 or more
   * @return the snapshot
   * @throws IOException if reading fails
   * @throws InvalidInputException listing every problem that one pass can find
   * @throws JacksonMissingException if Jackson is not on the class path
   */
  public static Snapshot read(Reader in, long maxLength) throws IOException {
    Objects.requireNonNull(in, "in");
    if (maxLength < 1) {
      throw new IllegalArgumentException(
          "Expected a limit of 1 character or more, but was " + maxLength + ".");
    }
    Problems problems = new Problems();
    Snapshot snapshot = null;
    try {
      Object tree = JsonTree.read(in, maxLength, problems);
      if (problems.isEmpty()) {
        snapshot = SnapshotReader.read(tree, problems);
      }
    } catch (NoClassDefFoundError e) {
      throw new JacksonMissingException(e);
    } catch (UncheckedIOException e) {
      if (!(e.getCause() instanceof CharacterCodingException)) {
        throw e.getCause();
      }
      problems.add("document", "expected UTF-8, but some bytes are not");
    }
    problems.throwIfAny("snapshot");
    return Objects.requireNonNull(snapshot, "snapshot");
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Snapshot that
        && fleet.equals(that.fleet)
        && fleet.version() == that.fleet.version()
        && requests.equals(that.requests)
        && rules.equals(that.rules)
        && cost.equals(that.cost)
        && Objects.equals(plan, that.plan);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fleet, requests, rules, cost);
  }

  @Override
  public String toString() {
    return "Snapshot["
        + fleet
        + ", "
        + requests.size()
        + " requests, "
        + (plan == null ? "no plan" : plan)
        + "]";
  }
}
