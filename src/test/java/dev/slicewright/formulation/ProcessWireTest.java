package dev.slicewright.formulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.CancelToken;
import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
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
import dev.slicewright.formulation.ProcessWire.BadMessage;
import dev.slicewright.formulation.ProcessWire.In;
import dev.slicewright.formulation.ProcessWire.Out;
import dev.slicewright.formulation.conformance.ModelBruteForce;
import dev.slicewright.formulation.conformance.RandomModels;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** What goes over the wire comes out as it went in, and nothing else is taken for it. */
class ProcessWireTest {

  private static PlacementModel there(PlacementModel model) throws BadMessage {
    Out out = new Out(ProcessWire.MODEL);
    ProcessWire.model(out, model);
    In in = new In(out.toBytes());
    assertThat(in.raw()).isEqualTo(ProcessWire.MODEL);
    PlacementModel read = ProcessWire.model(in);
    in.end();
    return read;
  }

  /** Everything that a model says, arrays and all. */
  private static String listing(PlacementModel m) {
    StringBuilder text = new StringBuilder().append(m.cellCount()).append(m.levels());
    text.append(m.items()).append(m.rows()).append(m.grids());
    for (Group g : m.groups()) {
      text.append("\n").append(g.name()).append(g.gang()).append(g.mandatory());
      text.append(g.running()).append(g.sameShape()).append(g.samePod()).append(g.differentPods());
      text.append(g.maxPerDomain()).append(Arrays.toString(g.movedGain()));
      text.append(Arrays.toString(g.absentGain())).append(g.disturbedTerms());
    }
    for (Candidate c : m.candidates()) {
      text.append("\n").append(c.item()).append(Arrays.toString(c.cells()));
      text.append(Arrays.toString(c.gains())).append(c.terms()).append(c.shape()).append(' ');
      text.append(c.pod()).append(' ').append(c.domain()).append(c.moves()).append(c.grid());
    }
    for (Union u : m.unions()) {
      text.append("\n").append(u.name()).append(Arrays.toString(u.groups())).append(u.terms());
    }
    return text.toString();
  }

  private static String evaluate(PlacementModel model, int[] chosen) {
    try {
      return Arrays.toString(model.evaluate(chosen));
    } catch (InvalidInputException e) {
      return e.problems().toString();
    }
  }

  @Property(tries = 200)
  void modelsComeOutAsTheyWentIn(@ForAll long seed, @ForAll boolean rows, @ForAll boolean ties)
      throws BadMessage {
    PlacementModel model = RandomModels.tiny(seed, rows, ties);
    PlacementModel read = there(model);
    assertThat(listing(read)).isEqualTo(listing(model));
    Random random = new Random(seed);
    for (int n = 0; n < 10; n++) {
      int[] chosen =
          random.ints(model.items().size(), -1, Math.max(1, model.candidates().size())).toArray();
      assertThat(evaluate(read, chosen)).isEqualTo(evaluate(model, chosen));
    }
    int[] some = ModelBruteForce.of(model).any().orElse(new int[0]);
    assertThat(evaluate(read, some)).isEqualTo(evaluate(model, some));
  }

  @Test
  void extremesComeOutAsTheyWentIn() throws BadMessage {
    String odd = "a\u0000ß€\uD800😀";
    PlacementModel.Builder b =
        PlacementModel.builder(
            Integer.MAX_VALUE, List.of(new Level(odd, true), new Level("", false)));
    b.row(new Row(odd, Long.MIN_VALUE));
    b.row(new Row("", Long.MAX_VALUE));
    long huge = PlacementModel.MAX_MAGNITUDE / 4;
    Term term = new Term(1, -huge);
    b.group(
        new Group(
            odd,
            Integer.MAX_VALUE,
            true,
            true,
            true,
            true,
            true,
            Integer.MAX_VALUE,
            new long[] {huge, -huge},
            new long[0],
            List.of(term)));
    int item = b.item(new Item(odd, 0));
    b.candidate(
        new Candidate(
            item,
            new int[] {0, 1, 77, Integer.MAX_VALUE - 1},
            new long[] {-huge, huge},
            List.of(new Term(0, 1), term),
            Integer.MIN_VALUE,
            Integer.MAX_VALUE,
            -1,
            true,
            new GridPlace(Integer.MIN_VALUE, -1, 0, 1, 2, Integer.MAX_VALUE)));
    b.union(new Union(odd, new int[] {0, 0}, List.of(term)));
    b.grid(new Grid(-1, Integer.MIN_VALUE, 1, 2, 3, true, false, true));
    PlacementModel model = b.build();
    PlacementModel read = there(model);
    assertThat(listing(read)).isEqualTo(listing(model));
    assertThat(read.levels().get(0).name()).isEqualTo(odd);
  }

  @Property(tries = 300)
  void tasksComeOutAsTheyWentIn(@ForAll long[] held, @ForAll long seed, @ForAll int[] start)
      throws BadMessage {
    SolveBudget.Mode mode = SolveBudget.Mode.values()[(int) Math.floorMod(seed, 3L)];
    SolveBudget budget =
        SolveBudget.builder()
            .deadline(Duration.ofNanos(1 + Math.floorMod(seed, 86_400_000_000_000L)))
            .gapTarget(Math.floorMod(seed, 1001L) / 1000.0)
            .mode(mode)
            .workers(mode == SolveBudget.Mode.REPRODUCIBLE ? 1 : 64)
            .seed(seed)
            .build();
    FormulationTask task =
        new FormulationTask(
            held.length,
            held,
            System.nanoTime() + 50_000_000_000L,
            budget,
            (int) seed,
            start.length == 0 ? null : start,
            s -> {},
            new CancelToken());
    Out out = new Out(ProcessWire.SOLVE);
    ProcessWire.task(out, task);
    In in = new In(out.toBytes());
    in.raw();
    FormulationTask read = ProcessWire.task(in, s -> {}, new CancelToken());
    in.end();
    assertThat(read.held()).isEqualTo(held);
    assertThat(read.budget()).isEqualTo(budget);
    assertThat(read.variant()).isEqualTo((int) seed);
    assertThat(read.warmStart()).isEqualTo(task.warmStart());
    assertThat(read.remainingNanos()).isBetween(1L, 50_000_000_000L);
  }

  @Property(tries = 200)
  void resultsComeOutAsTheyWentIn(
      @ForAll Status status, @ForAll int[] chosen, @ForAll Long bound, @ForAll String message)
      throws BadMessage {
    Long some = bound % 3 == 0 ? null : bound;
    FormulationResult result = new FormulationResult(status, chosen, some, message);
    Out out = new Out(ProcessWire.RESULT);
    ProcessWire.result(out, result);
    In in = new In(out.toBytes());
    in.raw();
    FormulationResult read = ProcessWire.result(in);
    in.end();
    assertThat(read.status()).isEqualTo(status);
    assertThat(read.chosen()).isEqualTo(chosen);
    assertThat(read.bound()).isEqualTo(some);
    assertThat(read.message()).isEqualTo(message);
  }

  /** Damaged bytes are refused, or are another model; they never do anything else. */
  @Property(tries = 500)
  void damageIsFound(@ForAll @IntRange(max = 5_000) int seed) {
    Random random = new Random(seed);
    Out out = new Out(ProcessWire.MODEL);
    ProcessWire.model(out, RandomModels.tiny(seed, true, true));
    byte[] bytes = out.toBytes();
    if (random.nextInt(4) == 0) {
      bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length));
    } else {
      for (int i = 0; i <= random.nextInt(3); i++) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      }
    }
    try {
      In in = new In(bytes);
      in.raw();
      PlacementModel read = ProcessWire.model(in);
      assertThat(listing(there(read))).isEqualTo(listing(read));
    } catch (BadMessage e) {
      assertThat(e).hasMessageMatching("(?s).+");
    }
  }

  @Test
  void whatIsTooLongIsRefused() {
    Out out = new Out(ProcessWire.MODEL, 1_000);
    PlacementModel model = RandomModels.line(30, 8, 3);
    assertThatThrownBy(() -> ProcessWire.model(out, model)).isInstanceOf(ProcessWire.TooLong.class);
    assertThatThrownBy(() -> new In(new byte[] {1, 2, 3, (byte) 0xFE, 0x7F}).longs())
        .isInstanceOf(BadMessage.class);
    assertThatThrownBy(() -> new In(new byte[] {(byte) 0xFE, 0x7F}).string())
        .hasMessageContaining("count");
  }

  // ---------------------------------------------------------------- frames

  @Property(tries = 200)
  void messagesAreFoundAmongWhatElseIsPrinted(@ForAll long seed) throws IOException {
    Random random = new Random(seed);
    long mark = random.nextLong();
    ByteArrayOutputStream pipe = new ByteArrayOutputStream();
    ProcessFrames.Writer writer =
        new ProcessFrames.Writer(
            new java.io.OutputStream() {
              @Override
              public void write(int b) {
                throw new AssertionError("one call for each chunk");
              }

              @Override
              public void write(byte[] b, int off, int len) {
                assertThat(len).isLessThanOrEqualTo(512);
                garbage(random, pipe);
                pipe.write(b, off, len);
              }
            },
            mark);
    List<byte[]> sent = new ArrayList<>();
    for (int n = random.nextInt(6); n > 0; n--) {
      byte[] message = new byte[1 + random.nextInt(random.nextBoolean() ? 20 : 3_000)];
      random.nextBytes(message);
      sent.add(message);
      writer.write(message);
    }
    garbage(random, pipe);
    ByteArrayOutputStream others = new ByteArrayOutputStream();
    ProcessFrames.Reader reader =
        new ProcessFrames.Reader(new ByteArrayInputStream(pipe.toByteArray()), mark, others::write);
    for (byte[] message : sent) {
      assertThat(reader.read()).isEqualTo(message);
    }
    assertThat(reader.read()).isNull();
    assertThat(others.toByteArray()).isEqualTo(printed.toByteArray());
    printed.reset();
  }

  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

  private void garbage(Random random, ByteArrayOutputStream pipe) {
    byte[] bytes = new byte[random.nextInt(40)];
    random.nextBytes(bytes);
    pipe.writeBytes(bytes);
    printed.writeBytes(bytes);
  }

  @Test
  void tornMessagesAreRefused() throws IOException {
    ByteArrayOutputStream pipe = new ByteArrayOutputStream();
    new ProcessFrames.Writer(pipe, 42).write(new byte[300]);
    byte[] bytes = pipe.toByteArray();
    for (int at = 8; at < bytes.length; at++) {
      byte[] torn = bytes.clone();
      torn[at] ^= 0x40;
      ProcessFrames.Reader reader =
          new ProcessFrames.Reader(new ByteArrayInputStream(torn), 42, b -> {});
      assertThat(outcome(reader)).as("byte %d", at).isNotEqualTo("a message");
    }
  }

  private static String outcome(ProcessFrames.Reader reader) throws IOException {
    try {
      return reader.read() == null ? "the end" : "a message";
    } catch (BadMessage e) {
      return "torn";
    }
  }
}
