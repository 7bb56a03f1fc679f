package dev.slicewright.formulation;

import dev.slicewright.CancelToken;
import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.Formulation.Capability;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Grid;
import dev.slicewright.formulation.PlacementModel.GridPlace;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.PlacementModel.Row;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.PlacementModel.Union;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link ProcessFormulation} and its child say to each other, as bytes: models, tasks and
 * results, without Java serialisation.
 *
 * <p>Integers are written seven bits to a byte, least significant first, the sign folded into the
 * lowest bit (the varint and ZigZag of protocol buffers, see
 * https://protobuf.dev/programming-guides/encoding/); cells as differences; a string as its UTF-16
 * units. Reading never allocates more than the bytes at hand can fill, and what is read is checked
 * by the builders of the values. All O(size).
 */
final class ProcessWire {

  /** Changes with every change of the messages; both ends have to have the same. */
  static final int VERSION = 1;

  /** The most bytes of one message: 256 MiB. */
  static final int MAX_MESSAGE = 256 << 20;

  /** The most characters of a text that is only for people. */
  static final int MAX_TEXT = 4_000;

  // To the child.
  static final byte HELLO = 1;
  static final byte MODEL = 2;
  static final byte WHY_NOT = 3;
  static final byte SOLVE = 4;
  static final byte CANCEL = 5;

  // From the child.
  static final byte READY = 16;
  static final byte REFUSED = 17;
  static final byte MODEL_TAKEN = 18;
  static final byte WHY = 19;
  static final byte SOLUTION = 20;
  static final byte RESULT = 21;
  static final byte UNAVAILABLE = 22;
  static final byte THREW = 23;
  static final byte BEAT = 24;

  private ProcessWire() {}

  /** A message that is too long, too short or makes no sense. */
  static final class BadMessage extends IOException {
    private static final long serialVersionUID = 1L;

    BadMessage(String message) {
      super(message);
    }
  }

  // ---------------------------------------------------------------- writing

  /** A growing array of bytes. Confined to one thread at a time. */
  static final class Out {
    private byte[] bytes = new byte[256];
    private int size;
    private final int limit;

    Out(byte type) {
      this(type, MAX_MESSAGE);
    }

    Out(byte type, int limit) {
      this.limit = limit;
      raw(type);
    }

    /** A copy of what was written, the type first. */
    byte[] toBytes() {
      return Arrays.copyOf(bytes, size);
    }

    private void raw(int b) {
      if (size == bytes.length) {
        if (size >= limit) {
          throw new TooLong(limit);
        }
        bytes = Arrays.copyOf(bytes, (int) Math.min(limit, 2L * size));
      }
      bytes[size++] = (byte) b;
    }

    Out number(long value) {
      long rest = value << 1 ^ value >> 63;
      while ((rest & ~0x7FL) != 0) {
        raw((int) (rest & 0x7F | 0x80));
        rest >>>= 7;
      }
      raw((int) rest);
      return this;
    }

    Out flag(boolean value) {
      raw(value ? 1 : 0);
      return this;
    }

    Out string(String value) {
      number(value.length());
      for (int i = 0; i < value.length(); i++) {
        number(value.charAt(i));
      }
      return this;
    }

    /** A text for people, cut where it is too long. */
    Out text(String value) {
      return string(value.length() <= MAX_TEXT ? value : value.substring(0, MAX_TEXT - 1) + "…");
    }

    Out numbers(long[] values) {
      number(values.length);
      for (long value : values) {
        number(value);
      }
      return this;
    }

    Out numbers(int[] values) {
      number(values.length);
      for (int value : values) {
        number(value);
      }
      return this;
    }

    /** Numbers that mostly ascend. */
    Out ascending(int[] values) {
      number(values.length);
      long last = -1;
      for (int value : values) {
        number(value - last - 1);
        last = value;
      }
      return this;
    }

    Out solution(int @Nullable [] chosen) {
      flag(chosen != null);
      return chosen == null ? this : numbers(chosen);
    }

    Out terms(List<Term> terms) {
      number(terms.size());
      for (Term term : terms) {
        number(term.row()).number(term.coefficient());
      }
      return this;
    }
  }

  /** Thrown where a message would pass its limit. */
  static final class TooLong extends RuntimeException {
    private static final long serialVersionUID = 1L;

    TooLong(int limit) {
      super("the message would be longer than " + (limit >> 20) + " MiB", null, false, false);
    }
  }

  // ---------------------------------------------------------------- reading

  /** Reads one message. Confined to one thread at a time. */
  static final class In {
    private final byte[] bytes;
    private int at;

    In(byte[] bytes) {
      this.bytes = bytes;
    }

    byte raw() throws BadMessage {
      if (at >= bytes.length) {
        throw new BadMessage("a message of " + bytes.length + " bytes ended too early");
      }
      return bytes[at++];
    }

    long number() throws BadMessage {
      long value = 0;
      for (int shift = 0; shift < 70; shift += 7) {
        byte b = raw();
        value |= (b & 0x7FL) << shift;
        if (b >= 0) {
          return value >>> 1 ^ -(value & 1);
        }
      }
      throw new BadMessage("a number of more than ten bytes at " + at);
    }

    int integer() throws BadMessage {
      long value = number();
      if (value != (int) value) {
        throw new BadMessage("expected 32 bits at " + at + ", but found " + value);
      }
      return (int) value;
    }

    /** How many elements follow; each takes one byte or more. */
    int count() throws BadMessage {
      long value = number();
      if (value < 0 || value > bytes.length - at) {
        throw new BadMessage(
            "a count of " + value + " with " + (bytes.length - at) + " bytes left");
      }
      return (int) value;
    }

    boolean flag() throws BadMessage {
      byte b = raw();
      if (b != 0 && b != 1) {
        throw new BadMessage("expected 0 or 1 at " + at + ", but found " + b);
      }
      return b == 1;
    }

    String string() throws BadMessage {
      char[] chars = new char[count()];
      for (int i = 0; i < chars.length; i++) {
        long unit = number();
        if (unit != (char) unit) {
          throw new BadMessage("expected a UTF-16 unit at " + at + ", but found " + unit);
        }
        chars[i] = (char) unit;
      }
      return new String(chars);
    }

    long[] longs() throws BadMessage {
      long[] values = new long[count()];
      for (int i = 0; i < values.length; i++) {
        values[i] = number();
      }
      return values;
    }

    int[] integers() throws BadMessage {
      int[] values = new int[count()];
      for (int i = 0; i < values.length; i++) {
        values[i] = integer();
      }
      return values;
    }

    int[] ascending() throws BadMessage {
      int[] values = new int[count()];
      long last = -1;
      for (int i = 0; i < values.length; i++) {
        last += number() + 1;
        if (last != (int) last) {
          throw new BadMessage("expected 32 bits at " + at + ", but found " + last);
        }
        values[i] = (int) last;
      }
      return values;
    }

    int @Nullable [] solution() throws BadMessage {
      return flag() ? integers() : null;
    }

    List<Term> terms() throws BadMessage {
      int n = count();
      List<Term> terms = new ArrayList<>(n);
      for (int i = 0; i < n; i++) {
        terms.add(new Term(integer(), number()));
      }
      return List.copyOf(terms);
    }

    <E extends Enum<E>> E constant(E[] values) throws BadMessage {
      int ordinal = integer();
      if (ordinal < 0 || ordinal >= values.length) {
        throw new BadMessage("there is no constant " + ordinal + " in " + Arrays.toString(values));
      }
      return values[ordinal];
    }

    void end() throws BadMessage {
      if (at != bytes.length) {
        throw new BadMessage(bytes.length - at + " bytes too many in a message");
      }
    }
  }

  // ---------------------------------------------------------------- models

  static void model(Out out, PlacementModel m) {
    out.number(m.cellCount());
    out.number(m.levels().size());
    for (Level level : m.levels()) {
      out.string(level.name()).flag(level.maximise());
    }
    out.number(m.rows().size());
    for (Row row : m.rows()) {
      out.string(row.name()).number(row.limit());
    }
    out.number(m.groups().size());
    for (Group g : m.groups()) {
      out.string(g.name()).number(g.gang()).number(flags(g)).number(g.maxPerDomain());
      out.numbers(g.movedGain()).numbers(g.absentGain()).terms(g.disturbedTerms());
    }
    out.number(m.items().size());
    for (Item item : m.items()) {
      out.string(item.name()).number(item.group());
    }
    out.number(m.candidates().size());
    for (Candidate c : m.candidates()) {
      GridPlace place = c.grid();
      out.number(c.item()).ascending(c.cells()).numbers(c.gains()).terms(c.terms());
      out.number(c.shape()).number(c.pod()).number(c.domain());
      out.number((c.moves() ? 1 : 0) + (place == null ? 0 : 2));
      if (place != null) {
        out.number(place.x()).number(place.y()).number(place.z());
        out.number(place.sizeX()).number(place.sizeY()).number(place.sizeZ());
      }
    }
    out.number(m.unions().size());
    for (Union union : m.unions()) {
      out.string(union.name()).numbers(union.groups()).terms(union.terms());
    }
    out.number(m.grids().size());
    for (Grid g : m.grids()) {
      out.number(g.pod()).number(g.firstCell());
      out.number(g.sizeX()).number(g.sizeY()).number(g.sizeZ());
      out.flag(g.wrapX()).flag(g.wrapY()).flag(g.wrapZ());
    }
  }

  private static int flags(Group g) {
    return (g.mandatory() ? 1 : 0)
        + (g.running() ? 2 : 0)
        + (g.sameShape() ? 4 : 0)
        + (g.samePod() ? 8 : 0)
        + (g.differentPods() ? 16 : 0);
  }

  static PlacementModel model(In in) throws BadMessage {
    int cells = in.integer();
    List<Level> levels = new ArrayList<>();
    for (int n = in.count(); n > 0; n--) {
      levels.add(new Level(in.string(), in.flag()));
    }
    PlacementModel.Builder b = PlacementModel.builder(cells, levels);
    for (int n = in.count(); n > 0; n--) {
      b.row(new Row(in.string(), in.number()));
    }
    for (int n = in.count(); n > 0; n--) {
      b.group(group(in));
    }
    for (int n = in.count(); n > 0; n--) {
      b.item(new Item(in.string(), in.integer()));
    }
    for (int n = in.count(); n > 0; n--) {
      b.candidate(candidate(in));
    }
    for (int n = in.count(); n > 0; n--) {
      b.union(new Union(in.string(), in.integers(), in.terms()));
    }
    for (int n = in.count(); n > 0; n--) {
      b.grid(
          new Grid(
              in.integer(),
              in.integer(),
              in.integer(),
              in.integer(),
              in.integer(),
              in.flag(),
              in.flag(),
              in.flag()));
    }
    try {
      return b.build();
    } catch (InvalidInputException e) {
      throw new BadMessage(String.valueOf(e.getMessage()));
    }
  }

  private static Group group(In in) throws BadMessage {
    String name = in.string();
    int gang = in.integer();
    int flags = in.integer();
    return new Group(
        name,
        gang,
        (flags & 1) != 0,
        (flags & 2) != 0,
        (flags & 4) != 0,
        (flags & 8) != 0,
        (flags & 16) != 0,
        in.integer(),
        in.longs(),
        in.longs(),
        in.terms());
  }

  private static Candidate candidate(In in) throws BadMessage {
    int item = in.integer();
    int[] cells = in.ascending();
    long[] gains = in.longs();
    List<Term> terms = in.terms();
    int shape = in.integer();
    int pod = in.integer();
    int domain = in.integer();
    int flags = in.integer();
    GridPlace place =
        (flags & 2) == 0
            ? null
            : new GridPlace(
                in.integer(), in.integer(), in.integer(), in.integer(), in.integer(), in.integer());
    return new Candidate(item, cells, gains, terms, shape, pod, domain, (flags & 1) != 0, place);
  }

  // ---------------------------------------------------------------- tasks and results

  /** The deadline goes as time left: two processes need not share a clock. */
  static void task(Out out, FormulationTask task) {
    SolveBudget budget = task.budget();
    out.number(task.level()).numbers(task.held()).number(task.remainingNanos());
    out.number(budget.deadline().toNanos()).number(Double.doubleToLongBits(budget.gapTarget()));
    out.number(budget.workers()).number(budget.seed()).number(budget.mode().ordinal());
    out.number(task.variant()).solution(task.warmStart());
  }

  static FormulationTask task(In in, Consumer<int[]> listener, CancelToken cancel)
      throws BadMessage {
    int level = in.integer();
    long[] held = in.longs();
    long deadline = System.nanoTime() + in.number();
    SolveBudget.Builder budget = SolveBudget.builder().deadline(Duration.ofNanos(in.number()));
    budget.gapTarget(Double.longBitsToDouble(in.number()));
    budget.workers(in.integer()).seed(in.number()).mode(in.constant(SolveBudget.Mode.values()));
    int variant = in.integer();
    int[] start = in.solution();
    try {
      return new FormulationTask(
          level, held, deadline, budget.build(), variant, start, listener, cancel);
    } catch (IllegalArgumentException e) {
      throw new BadMessage(String.valueOf(e.getMessage()));
    }
  }

  static void result(Out out, FormulationResult result) {
    Long bound = result.bound();
    out.number(result.status().ordinal()).solution(result.chosen()).flag(bound != null);
    if (bound != null) {
      out.number(bound);
    }
    out.text(result.message());
  }

  static FormulationResult result(In in) throws BadMessage {
    Status status = in.constant(Status.values());
    int[] chosen = in.solution();
    Long bound = in.flag() ? (Long) in.number() : null;
    String message = in.string();
    try {
      return new FormulationResult(status, chosen, bound, message);
    } catch (IllegalArgumentException e) {
      throw new BadMessage(String.valueOf(e.getMessage()));
    }
  }

  static void capabilities(Out out, Set<Capability> set) {
    int bits = 0;
    for (Capability capability : set) {
      bits |= 1 << capability.ordinal();
    }
    out.number(bits);
  }

  static Set<Capability> capabilities(In in) throws BadMessage {
    int bits = in.integer();
    Set<Capability> set = EnumSet.noneOf(Capability.class);
    for (Capability capability : Capability.values()) {
      if ((bits & 1 << capability.ordinal()) != 0) {
        set.add(capability);
      }
    }
    return set;
  }
}
