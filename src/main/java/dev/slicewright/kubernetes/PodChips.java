package dev.slicewright.kubernetes;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Quantity;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The chips that one pod asks for, over all its containers (TPU7x pods may split a host's four
 * between two containers).
 *
 * <p>As Kubernetes counts a pod's resources: the sum of its containers and of those init containers
 * that keep running, or what any init container needs while it runs, if that is more. Each
 * operation is linear in the containers. Confined to one thread at a time.
 */
final class PodChips {

  /** The most of one container: beyond any host. */
  private static final long MAX = 1_000_000;

  // Suffixes and exponents as Kubernetes' quantities have them.
  private static final Pattern QUANTITY =
      Pattern.compile(
          "([+-]?)([0-9]{0,18}(?:\\.[0-9]{0,18})?)(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})");

  private static final Map<String, BigDecimal> SUFFIXES =
      Map.ofEntries(
          Map.entry("n", BigDecimal.valueOf(1, 9)),
          Map.entry("u", BigDecimal.valueOf(1, 6)),
          Map.entry("m", BigDecimal.valueOf(1, 3)),
          Map.entry("", BigDecimal.ONE),
          Map.entry("k", BigDecimal.valueOf(1_000L)),
          Map.entry("M", BigDecimal.valueOf(1_000_000L)),
          Map.entry("G", BigDecimal.valueOf(1_000_000_000L)),
          Map.entry("T", BigDecimal.valueOf(1_000_000_000_000L)),
          Map.entry("P", BigDecimal.valueOf(1_000_000_000_000_000L)),
          Map.entry("E", BigDecimal.valueOf(1_000_000_000_000_000_000L)),
          Map.entry("Ki", BigDecimal.valueOf(1L << 10)),
          Map.entry("Mi", BigDecimal.valueOf(1L << 20)),
          Map.entry("Gi", BigDecimal.valueOf(1L << 30)),
          Map.entry("Ti", BigDecimal.valueOf(1L << 40)),
          Map.entry("Pi", BigDecimal.valueOf(1L << 50)),
          Map.entry("Ei", BigDecimal.valueOf(1L << 60)));

  private final Generic spec;
  private long chips;
  private Generic where;
  private boolean sound = true;

  private PodChips(Generic spec) {
    this.spec = spec;
    this.where = spec.get("containers");
  }

  /** Chips of the pod; what was unsound in them is counted as none and is a problem. */
  long chips() {
    return chips;
  }

  /** Whether every quantity was sound. */
  boolean isSound() {
    return sound;
  }

  /** The field to name when the number is wrong: the quantity, or the list where there are more. */
  Generic where() {
    return where;
  }

  /** Whether the limits or requests of any container, init containers included, are such. */
  static boolean anyAmount(@Nullable PodSpec spec, Predicate<Map<String, Quantity>> such) {
    return spec != null
        && Stream.of(spec.getContainers(), spec.getInitContainers())
            .filter(Objects::nonNull)
            .flatMap(List::stream)
            .filter(container -> container != null && container.getResources() != null)
            .map(Container::getResources)
            .flatMap(amounts -> Stream.of(amounts.getLimits(), amounts.getRequests()))
            .filter(Objects::nonNull)
            .anyMatch(such);
  }

  /** Reads a pod's spec. */
  static PodChips of(Generic spec) {
    PodChips read = new PodChips(spec);
    read.read();
    return read;
  }

  private void read() {
    long running = 0;
    long most = 0;
    int given = 0;
    for (Generic container : spec.list("initContainers")) {
      long asked = container(container);
      most = Math.max(most, running + asked);
      if (container.text("restartPolicy").filter("Always"::equals).isPresent()) {
        running += asked;
      }
    }
    Generic last = where;
    for (Generic container : spec.list("containers")) {
      long asked = container(container);
      running += asked;
      if (asked > 0) {
        given++;
        last = container.get("resources", "limits", TpuLabels.TPU);
      }
    }
    chips = Math.max(running, most);
    where = given == 1 ? last : where;
  }

  private long container(Generic container) {
    Generic resources = container.get("resources");
    if (!resources.isPresent()) {
      return 0;
    }
    Generic limit = resources.get("limits", TpuLabels.TPU);
    Generic request = resources.get("requests", TpuLabels.TPU);
    long limited = quantity(limit);
    long requested = quantity(request);
    if (!limit.isPresent()) {
      if (requested > 0) {
        limit.problem(
            "expected a limit equal to the request of "
                + requested
                + ", but there was none; write the limit (the request then follows from it)");
      }
      return Math.max(requested, 0);
    }
    if (request.isPresent() && requested >= 0 && limited >= 0 && requested != limited) {
      sound = false;
      request.problem(
          "the limit of " + limited,
          "chips cannot be shared: write both alike, or the limit alone");
    }
    return Math.max(limited, 0);
  }

  /** A whole number of chips; 0 if there is none, -1 with a problem if it is not one. */
  private long quantity(Generic field) {
    Object raw = field.raw();
    if (raw == null) {
      return 0;
    }
    BigDecimal number = raw instanceof String || raw instanceof Number ? parse(raw) : null;
    if (number == null) {
      field.problem("a whole number of chips such as \"4\"", "write the chips of a host");
      sound = false;
      return -1;
    }
    if (number.signum() < 0) {
      field.problem("0 chips or more", "write the chips of a host");
      sound = false;
      return -1;
    }
    if (number.stripTrailingZeros().scale() > 0) {
      field.problem("whole chips", "a chip cannot be shared: write the chips of a host");
      sound = false;
      return -1;
    }
    if (number.compareTo(BigDecimal.valueOf(MAX)) > 0) {
      field.problem("the chips of a host", "hosts have 1, 4 or 8");
      sound = false;
      return -1;
    }
    return number.longValue();
  }

  private static @Nullable BigDecimal parse(Object raw) {
    Matcher matcher = QUANTITY.matcher(raw.toString());
    if (raw.toString().length() > 64 || !matcher.matches()) {
      return null;
    }
    String digits = matcher.group(2);
    if (digits.isEmpty() || digits.equals(".")) {
      return null;
    }
    BigDecimal number = new BigDecimal(matcher.group(1) + digits);
    String suffix = matcher.group(3);
    BigDecimal unit = SUFFIXES.get(suffix);
    return unit != null
        ? number.multiply(unit)
        : number.scaleByPowerOfTen(Integer.parseInt(suffix.substring(1)));
  }
}
