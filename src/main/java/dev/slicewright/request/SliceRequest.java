package dev.slicewright.request;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What one job wants: one slice, or several equal ones (multislice). Immutable, safe to share.
 *
 * <p>Either a shape, several shapes in order of preference, or a number of chips. All slices of a
 * request get the same shape and accelerator, and are placed all or none. Whether a shape is legal
 * depends on the pods, so it is not checked here.
 */
public final class SliceRequest {

  /** The most slices of one request: 100,000. */
  public static final int MAX_SLICES = 100_000;

  private final Builder b;

  private SliceRequest(Builder b) {
    this.b = b;
  }

  /**
   * A builder; the defaults are one slice, any accelerator, priority 0, no tenant, turning allowed.
   *
   * @param id the request's id, unique among the requests and running slices of a fleet
   * @return a new builder
   */
  public static Builder builder(String id) {
    return new Builder(id);
  }

  /**
   * The id.
   *
   * @return not empty
   */
  public String id() {
    return b.id;
  }

  /**
   * The shapes wanted, best first.
   *
   * @return an unmodifiable list; empty if a number of chips is wanted
   */
  public List<Shape> shapes() {
    return b.shapes;
  }

  /**
   * The chips of each slice, where any legal shape of so many will do.
   *
   * @return 1 or more, or 0 if shapes are wanted
   */
  public long chips() {
    return b.chips;
  }

  /**
   * The accelerators that will do, by {@code AcceleratorType.name()}.
   *
   * @return an unmodifiable sorted list; empty for any
   */
  public List<String> accelerators() {
    return b.accelerators;
  }

  /**
   * The number of equal slices.
   *
   * @return 1 to {@link #MAX_SLICES}
   */
  public int slices() {
    return b.slices;
  }

  /**
   * Whether the box may be turned from the order in which the shape is written.
   *
   * @return true by default
   */
  public boolean mayTurn() {
    return b.mayTurn;
  }

  /**
   * What each slice needs of its interconnect.
   *
   * @return {@link Interconnect#ANY} by default
   */
  public Interconnect interconnect() {
    return b.interconnect;
  }

  /**
   * Whether degraded parts must be avoided.
   *
   * @return false by default
   */
  public boolean healthyOnly() {
    return b.healthyOnly;
  }

  /**
   * The priority; higher is more important.
   *
   * @return any value
   */
  public long priority() {
    return b.priority;
  }

  /**
   * The tenant for quotas and reservations.
   *
   * @return the name, or empty for none
   */
  public String tenant() {
    return b.tenant;
  }

  /**
   * Labels that the pod must have, with these values.
   *
   * @return an unmodifiable map in key order
   */
  public Map<String, String> requiredLabels() {
    return b.required;
  }

  /**
   * Labels that the pod must not have with any of these values.
   *
   * @return an unmodifiable map in key order, its values sorted, unmodifiable and not empty
   */
  public Map<String, Set<String>> forbiddenLabels() {
    return b.forbidden;
  }

  /**
   * The only pod that will do.
   *
   * @return its id, or empty for any
   */
  public Optional<String> pod() {
    return b.pod.isEmpty() ? Optional.empty() : Optional.of(b.pod);
  }

  /**
   * The gang: requests of one gang are placed all or none.
   *
   * @return its name, or empty for none
   */
  public Optional<String> gang() {
    return b.gang.isEmpty() ? Optional.empty() : Optional.of(b.gang);
  }

  /**
   * How the slices lie over pods.
   *
   * @return {@link Spread#any()} by default
   */
  public Spread spread() {
    return b.spread;
  }

  /**
   * A builder that starts from this request.
   *
   * @return a new builder
   */
  public Builder toBuilder() {
    return b.copy(b.id);
  }

  /**
   * A builder that starts from this request, for one with another id.
   *
   * @param id the new request's id
   * @return a new builder
   */
  public Builder toBuilder(String id) {
    return b.copy(Objects.requireNonNull(id, "id"));
  }

  @Override
  public boolean equals(Object other) {
    return this == other || other instanceof SliceRequest that && b.key().equals(that.b.key());
  }

  @Override
  public int hashCode() {
    return b.id.hashCode();
  }

  @Override
  public String toString() {
    return b.id
        + ": "
        + (b.slices == 1 ? "" : b.slices + " x ")
        + (b.chips > 0
            ? b.chips + " chips"
            : String.join(" or ", b.shapes.stream().map(Shape::toString).toList()))
        + (b.priority == 0 ? "" : ", priority " + b.priority);
  }

  /** Builds a {@link SliceRequest}. Confined to one thread at a time. */
  public static final class Builder {
    private final String id;
    private final List<Object> rawShapes; // Shape, or text still to be read
    private List<Shape> shapes = List.of();
    private long chips;
    private boolean chipsSet;
    private List<String> accelerators = List.of();
    private int slices = 1;
    private boolean mayTurn = true;
    private Interconnect interconnect = Interconnect.ANY;
    private boolean healthyOnly;
    private long priority;
    private String tenant = "";
    private Map<String, String> required = Map.of();
    private Map<String, Set<String>> forbidden = Map.of();
    private List<String> conflicts = List.of(); // labels required with a second value
    private String pod = "";
    private String gang = "";
    private Spread spread = Spread.any();

    private Builder(String id) {
      this.id = Objects.requireNonNull(id, "id");
      this.rawShapes = new ArrayList<>();
    }

    private Builder copy(String newId) {
      Builder c = new Builder(newId);
      c.rawShapes.addAll(rawShapes);
      c.shapes = shapes;
      c.chips = chips;
      c.chipsSet = chipsSet;
      c.accelerators = accelerators;
      c.slices = slices;
      c.mayTurn = mayTurn;
      c.interconnect = interconnect;
      c.healthyOnly = healthyOnly;
      c.priority = priority;
      c.tenant = tenant;
      c.required = required;
      c.forbidden = forbidden;
      c.conflicts = conflicts;
      c.pod = pod;
      c.gang = gang;
      c.spread = spread;
      return c;
    }

    private List<Object> key() {
      return List.of(
          id,
          shapes,
          chips,
          accelerators,
          slices,
          mayTurn,
          interconnect,
          healthyOnly,
          priority,
          tenant,
          required,
          forbidden,
          pod,
          gang,
          spread);
    }

    /**
     * Adds a shape; each further one is less preferred.
     *
     * @param shape for example {@code 4x4x8}; read when the request is built
     * @return this
     */
    public Builder shape(String shape) {
      rawShapes.add(Objects.requireNonNull(shape, "shape"));
      return this;
    }

    /**
     * Adds a shape; each further one is less preferred.
     *
     * @param shape the shape
     * @return this
     */
    public Builder shape(Shape shape) {
      rawShapes.add(Objects.requireNonNull(shape, "shape"));
      return this;
    }

    /**
     * Sets the shapes anew.
     *
     * @param values in place of the shapes, or the number of chips, set before; most preferred
     *     first
     * @return this
     */
    public Builder shapes(List<Shape> values) {
      List<Shape> copy = List.copyOf(values);
      rawShapes.clear();
      rawShapes.addAll(copy);
      chips = 0;
      chipsSet = false;
      return this;
    }

    /**
     * Asks for any legal shape of exactly so many chips, fastest all-to-all first.
     *
     * @param value chips of each slice, 1 or more
     * @return this
     */
    public Builder chips(long value) {
      chips = value;
      chipsSet = true;
      return this;
    }

    /**
     * Sets the accelerators that will do; by default any.
     *
     * @param names names such as {@code v5p}; case does not matter
     * @return this
     */
    public Builder accelerators(String... names) {
      List<String> lower = new ArrayList<>();
      for (String name : names) {
        lower.add(name.toLowerCase(java.util.Locale.ROOT));
      }
      Collections.sort(lower);
      accelerators = lower.stream().distinct().toList();
      return this;
    }

    /**
     * Sets the number of equal slices.
     *
     * @param value 1 to {@link SliceRequest#MAX_SLICES}
     * @return this
     */
    public Builder slices(int value) {
      slices = value;
      return this;
    }

    /**
     * Sets whether the box may be turned.
     *
     * @param value true by default
     * @return this
     */
    public Builder mayTurn(boolean value) {
      mayTurn = value;
      return this;
    }

    /**
     * Sets what each slice needs of its interconnect.
     *
     * @param value {@link Interconnect#ANY} by default
     * @return this
     */
    public Builder interconnect(Interconnect value) {
      interconnect = Objects.requireNonNull(value, "interconnect");
      return this;
    }

    /**
     * Sets whether degraded parts must be avoided.
     *
     * @param value false by default
     * @return this
     */
    public Builder healthyOnly(boolean value) {
      healthyOnly = value;
      return this;
    }

    /**
     * Sets the priority.
     *
     * @param value any value; higher is more important
     * @return this
     */
    public Builder priority(long value) {
      priority = value;
      return this;
    }

    /**
     * Sets the tenant.
     *
     * @param value its name; empty for none
     * @return this
     */
    public Builder tenant(String value) {
      tenant = Objects.requireNonNull(value, "tenant");
      return this;
    }

    /**
     * Requires a label of the pod; each further one is required too.
     *
     * @param key the label
     * @param value the value that it must have
     * @return this
     */
    public Builder requireLabel(String key, String value) {
      TreeMap<String, String> more = new TreeMap<>(required);
      String before =
          more.putIfAbsent(
              Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"));
      if (before != null && !before.equals(value)) {
        List<String> both = new ArrayList<>(conflicts);
        both.add(
            "expected one value of "
                + key
                + ", but was both \""
                + before
                + "\" and \""
                + value
                + "\"; a pod has one value of a label: drop one");
        conflicts = List.copyOf(both);
      }
      required = Collections.unmodifiableMap(more);
      return this;
    }

    /**
     * Forbids a value of a label of the pod; each further one is forbidden too.
     *
     * @param key the label
     * @param value a value that it must not have
     * @return this
     */
    public Builder forbidLabel(String key, String value) {
      return forbidLabels(key, Set.of(value));
    }

    /**
     * Forbids values of a label of the pod; each further one is forbidden too. For many values much
     * faster than one after another.
     *
     * @param key the label
     * @param values values that it must not have; none null
     * @return this
     */
    public Builder forbidLabels(String key, Collection<String> values) {
      Objects.requireNonNull(key, "key");
      TreeSet<String> all = new TreeSet<>(forbidden.getOrDefault(key, Set.of()));
      for (String value : values) {
        all.add(Objects.requireNonNull(value, "value"));
      }
      if (!all.isEmpty()) {
        TreeMap<String, Set<String>> more = new TreeMap<>(forbidden);
        more.put(key, Collections.unmodifiableSet(all));
        forbidden = Collections.unmodifiableMap(more);
      }
      return this;
    }

    /**
     * Pins the request to one pod.
     *
     * @param value the pod's id; empty for any
     * @return this
     */
    public Builder pod(String value) {
      pod = Objects.requireNonNull(value, "pod");
      return this;
    }

    /**
     * Puts the request into a gang; all requests of a gang are placed, or none.
     *
     * @param value the gang's name; empty for none
     * @return this
     */
    public Builder gang(String value) {
      gang = Objects.requireNonNull(value, "gang");
      return this;
    }

    /**
     * Sets how the slices lie over pods.
     *
     * @param value {@link Spread#any()} by default
     * @return this
     */
    public Builder spread(Spread value) {
      spread = Objects.requireNonNull(value, "spread");
      return this;
    }

    /**
     * Checks and builds.
     *
     * @return the request
     * @throws InvalidInputException listing every problem
     */
    public SliceRequest build() {
      Problems problems = new Problems();
      if (id.isEmpty() || id.length() > 253) {
        problems.add(
            "id", "expected 1 to 253 characters, but had " + id.length() + "; choose another id");
      }
      List<Shape> read = new ArrayList<>();
      HashSet<Shape> seen = new HashSet<>();
      for (int i = 0; i < rawShapes.size(); i++) {
        String path = "shapes[" + i + "]";
        Object raw = rawShapes.get(i);
        try {
          Shape shape = raw instanceof Shape given ? given : Shape.parse((String) raw);
          read.add(shape);
          // Without turning, the order of extents is part of what is wanted.
          if (!seen.add(mayTurn ? shape.sorted() : shape)) {
            problems.add(
                path, "expected each shape once, but " + shape + " is listed twice; remove one");
          }
        } catch (InvalidInputException e) {
          problems.add(path, e.problems().get(0).message());
        }
      }
      if (rawShapes.isEmpty() == !chipsSet) {
        problems.add(
            "shapes",
            chipsSet
                ? "expected shapes or a number of chips, but both were set; drop one"
                : "expected a shape, several shapes, or a number of chips, but nothing was set;"
                    + " call shape or chips");
      }
      if (chipsSet && (chips < 1 || chips > 1L << 40)) {
        problems.add("chips", "expected 1 to 2^40 chips of each slice, but was " + chips);
      }
      if (slices < 1 || slices > MAX_SLICES) {
        problems.add(
            "slices",
            "expected 1 to " + MAX_SLICES + ", but was " + slices + "; split a larger request");
      }
      for (int i = 0; i < accelerators.size(); i++) {
        if (accelerators.get(i).isEmpty()) {
          problems.add(
              "accelerators[" + i + "]",
              "expected a name such as v5p, but it was empty; name none for any accelerator");
        }
      }
      conflicts.forEach(text -> problems.add("requiredLabels", text));
      required.forEach(
          (key, value) -> {
            if (forbidden.getOrDefault(key, Set.of()).contains(value)) {
              problems.add(
                  "forbiddenLabels",
                  "expected other values of "
                      + key
                      + " than the required one, but \""
                      + value
                      + "\" is both required and forbidden; drop one");
            }
          });
      problems.throwIfAny("request " + id);
      Builder frozen = copy(id);
      frozen.shapes = List.copyOf(read);
      return new SliceRequest(frozen);
    }
  }
}
