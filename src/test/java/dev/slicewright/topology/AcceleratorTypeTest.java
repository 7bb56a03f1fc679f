package dev.slicewright.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The published figures, row by row. */
class AcceleratorTypeTest {

  @ParameterizedTest
  @CsvSource({
    // name, pod, chips, host, physical host, cube edge, cubes of a pod, most cubes of a slice
    "v2,16x16,256,2x2,2x2,0,0,0",
    "v3,32x32,1024,2x2,4x2,0,0,0",
    "v4,16x16x16,4096,2x2x1,2x2x1,4,64,64",
    "v5e,16x16,256,2x2,2x4,0,0,0",
    "v5p,16x20x28,8960,2x2x1,2x2x1,4,140,96",
    "v6e,16x16,256,2x2,2x4,0,0,0",
    "tpu7x,16x24x24,9216,2x2x1,2x2x1,4,144,144"
  })
  void podHostAndCube(
      String name,
      String pod,
      int chips,
      String host,
      String physical,
      int edge,
      int cubes,
      int maxCubes) {
    AcceleratorType type = AcceleratorType.byName(name).orElseThrow();
    assertThat(type.podDims()).isEqualTo(Shape.parse(pod));
    assertThat(type.podDims().chips()).isEqualTo(chips);
    assertThat(type.hostTile()).isEqualTo(Shape.parse(host));
    assertThat(type.physicalHostTile()).isEqualTo(Shape.parse(physical));
    assertThat(type.cubeEdge()).isEqualTo(edge);
    assertThat(type.maxCubes()).isEqualTo(maxCubes);
    assertThat(type.opticalLinksPerCube()).isEqualTo(edge == 0 ? 0 : 96);
    TpuTopology made = TpuTopology.builder(type).build();
    assertThat(made.chipCount()).isEqualTo(chips);
    assertThat(made.cubeCount()).isEqualTo(cubes);
    assertThat(made.hostCount()).isEqualTo(chips / 4);
    assertThat(made.hostsPerCube()).isEqualTo(edge == 0 ? 0 : 16);
  }

  @ParameterizedTest
  @CsvSource({
    // name, TensorCores, SparseCores, HBM GiB, bf16, ICI links, per link, both ways GB/s, DCN
    "v2,2,0,,,4,,,",
    "v3,2,0,32,140,4,1e11,,",
    "v4,2,4,32,275,6,4.5e10,540,",
    "v5e,1,0,16,197,4,5e10,400,25",
    "v5p,2,4,95,459,6,1e11,1200,50",
    "v6e,1,2,32,918,4,1e11,800,100",
    "tpu7x,2,4,192,2307,6,1e11,1200,100"
  })
  void figuresOfAChip(
      String name,
      int tensor,
      int sparse,
      Integer hbm,
      Double bf16,
      int links,
      Double perLink,
      Double bothWays,
      Double dcn) {
    AcceleratorType type = AcceleratorType.byName(name).orElseThrow();
    assertThat(type.tensorCoresPerChip()).isEqualTo(tensor);
    assertThat(type.sparseCoresPerChip()).isEqualTo(sparse);
    assertThat(type.hbmGib()).isEqualTo(hbm == null ? OptionalInt.empty() : OptionalInt.of(hbm));
    assertThat(type.bf16Tflops()).isEqualTo(optional(bf16));
    assertThat(type.iciLinksPerChip()).isEqualTo(links).isEqualTo(2 * type.rank());
    assertThat(type.iciLinkBytesPerSecond()).isEqualTo(optional(perLink));
    if (bothWays != null) {
      assertThat(2 * links * type.iciLinkBytesPerSecond().getAsDouble()).isEqualTo(bothWays * 1e9);
    }
    assertThat(type.dcnGbitPerSecondPerChip()).isEqualTo(optional(dcn));
  }

  private static OptionalDouble optional(Double value) {
    return value == null ? OptionalDouble.empty() : OptionalDouble.of(value);
  }

  @ParameterizedTest
  @CsvSource({
    // accelerator, machine, chips, vCPU, GB; 0 where no source has it
    "v4,ct4p-hightpu-4t,4,0,0",
    "v5e,ct5lp-hightpu-1t,1,24,48",
    "v5e,ct5lp-hightpu-4t,4,112,192",
    "v5e,ct5lp-hightpu-8t,8,224,384",
    "v5p,ct5p-hightpu-1t,1,0,0",
    "v5p,ct5p-hightpu-2t,2,0,0",
    "v5p,ct5p-hightpu-4t,4,208,448",
    "v6e,ct6e-standard-1t,1,0,0",
    "v6e,ct6e-standard-4t,4,180,720",
    "v6e,ct6e-standard-8t,8,0,0",
    "tpu7x,tpu7x-standard-4t,4,224,960"
  })
  void machineTypes(String name, String machine, int chips, int vcpus, int memory) {
    AcceleratorType type = AcceleratorType.byName(name).orElseThrow();
    assertThat(type.machineTypes())
        .contains(new AcceleratorType.MachineType(machine, chips, vcpus, memory))
        .isSortedAccordingTo(Comparator.comparingInt(AcceleratorType.MachineType::chips));
  }

  @Test
  void noOtherMachineTypes() {
    assertThat(AcceleratorType.known().stream().mapToInt(type -> type.machineTypes().size()).sum())
        .isEqualTo(11);
  }

  @ParameterizedTest
  @CsvSource({
    "v4,tpu-v4-podslice",
    "v5e,tpu-v5-lite-podslice",
    "v5p,tpu-v5p-slice",
    "v6e,tpu-v6e-slice",
    "tpu7x,tpu7x",
    "v2,",
    "v3,"
  })
  void gkeLabel(String name, String label) {
    assertThat(AcceleratorType.byName(name).orElseThrow().gkeAccelerator().orElse(null))
        .isEqualTo(label);
  }

  @ParameterizedTest
  @CsvSource({
    "v2-8,v2,4",
    "v3-32,v3,16",
    "v4-8,v4,4",
    "v5p-8,v5p,4",
    "v5p-128,v5p,64",
    "v5p-12288,v5p,6144",
    "tpu7x-32,tpu7x,16",
    "v5litepod-1,v5e,1",
    "v5litepod-4,v5e,4",
    "v5litepod-8,v5e,8",
    "v6e-1,v6e,1",
    "v6e-4,v6e,4",
    "v6e-8,v6e,8",
    "v6e-16,v6e,16",
    "v6e-256,v6e,256"
  })
  void typeNameBothWays(String name, String type, long chips) {
    AcceleratorType.TypeName read = AcceleratorType.parseTypeName(name);
    assertThat(read.type().name()).isEqualTo(type);
    assertThat(read.chips()).isEqualTo(chips);
    assertThat(read.type().typeName(chips)).isEqualTo(name);
  }

  @Test
  void typeNameIsReadInAnyCaseAndUnderOurName() {
    assertThat(AcceleratorType.parseTypeName("V5P-16").chips()).isEqualTo(8);
    assertThat(AcceleratorType.parseTypeName("v5e-16"))
        .isEqualTo(new AcceleratorType.TypeName(AcceleratorType.V5E, 16));
    assertThat(AcceleratorType.byName("TPU7x")).contains(AcceleratorType.TPU7X);
    assertThat(AcceleratorType.byName("v7")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "-",
        "v5p",
        "v5p-",
        "-8",
        "v5p-7",
        "v5p-0",
        "v5p--8",
        "v5p-+8",
        "v5p-٨",
        "v9-8",
        "v6e-1.5",
        "v6e-9999999999",
        "v6e 16",
        "8t-64"
      })
  void wrongTypeNameIsRefused(String name) {
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(() -> AcceleratorType.parseTypeName(name))
        .withMessageContaining("acceleratorType: expected")
        .withMessageContaining("\"" + name + "\"");
  }

  @Test
  void typeNameNeedsChips() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> AcceleratorType.V5P.typeName(0))
        .withMessageContaining("was 0");
  }

  @Test
  void generationsWithoutAPublishedConfigurationAreAbsent() {
    assertThat(AcceleratorType.known())
        .extracting(AcceleratorType::name)
        .containsExactly("v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x");
  }

  @Test
  void toBuilderChangesOneThing() {
    AcceleratorType all = AcceleratorType.V5P.toBuilder().maxCubes(140).build();
    assertThat(all).isNotEqualTo(AcceleratorType.V5P);
    assertThat(all.maxCubes()).isEqualTo(140);
    assertThat(all.toBuilder().maxCubes(96).build())
        .isEqualTo(AcceleratorType.V5P)
        .hasSameHashCodeAs(AcceleratorType.V5P);
    assertThat(AcceleratorType.V6E.toBuilder().build().physicalHostTile())
        .isEqualTo(Shape.of(2, 4));
  }

  @Test
  void customTypeHasDefaults() {
    AcceleratorType lab =
        AcceleratorType.builder("Lab").podDims(Shape.of(8, 8)).hostTile(Shape.of(2, 1)).build();
    assertThat(lab.name()).isEqualTo("lab");
    assertThat(lab.physicalHostTile()).isEqualTo(Shape.of(2, 1));
    assertThat(lab.iciLinksPerChip()).isEqualTo(4);
    assertThat(lab.hbmGib()).isEmpty();
    assertThat(lab.typeName(8)).isEqualTo("lab-8");
    assertThat(
            AcceleratorType.builder("m")
                .machine("b", 8, 0, 0)
                .machine("a", 1, 0, 0)
                .build()
                .machineTypes())
        .extracting(AcceleratorType.MachineType::chips)
        .containsExactly(1, 8);
  }

  @Test
  void everythingWrongIsListedAtOnce() {
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(
            () ->
                AcceleratorType.builder("no spaces")
                    .podDims(Shape.of(6, 6))
                    .hostTile(Shape.of(4, 4))
                    .boxShapes(List.of(Shape.of(2, 2, 2)), false)
                    .cubeEdge(3)
                    .coresPerChip(0, 0)
                    .bf16Tflops(Double.NaN)
                    .iciLinkBytesPerSecond(Double.POSITIVE_INFINITY)
                    .build())
        .satisfies(
            e ->
                assertThat(e.problems())
                    .extracting(Problem::path)
                    .contains(
                        "name", "hostTile", "boxShapes", "cubeEdge", "coresPerChip", "figures"));
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(() -> AcceleratorType.builder("x").machine("m", 0, 0, 0))
        .withMessageContaining("1 chip or more");
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(
            () ->
                AcceleratorType.builder("x")
                    .podDims(Shape.of(6, 4, 4))
                    .cubeEdge(4)
                    .maxCubes(1)
                    .build())
        .withMessageContaining("podDims");
  }
}
