package dev.slicewright.topology;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/**
 * A kind of accelerator: its pod, host, cube and per-chip figures. Immutable, safe to share.
 *
 * <p>The constants hold what Google publishes of its TPUs (Cloud TPU documentation, "TPU v4", "TPU
 * v5e", "TPU v5p", "TPU v6e", "TPU7x"; link rates also from the JAX team's "How to Scale Your
 * Model"). A figure that no source of good confidence gives is absent, never guessed. Build others
 * with {@link #builder}. Two types are equal if their {@link #name} and every figure are.
 */
public final class AcceleratorType {

  /**
   * A virtual machine that hosts chips. Immutable, safe to share.
   *
   * @param name the platform's machine type, for example {@code ct5p-hightpu-4t}
   * @param chips chips in it, 1 or more
   * @param vcpus virtual CPUs, 0 if not known
   * @param memoryGb host memory in GB, 0 if not known
   */
  public record MachineType(String name, int chips, int vcpus, int memoryGb) {
    /**
     * Checks the components.
     *
     * @throws InvalidInputException if the name is empty or a number is out of range
     */
    public MachineType {
      Objects.requireNonNull(name, "name");
      if (name.isEmpty() || chips < 1 || vcpus < 0 || memoryGb < 0) {
        throw new InvalidInputException(
            "machine type",
            "machine",
            "expected a name, 1 chip or more, and figures of 0 (not known) or more, but was \""
                + name
                + "\", "
                + chips
                + ", "
                + vcpus
                + ", "
                + memoryGb);
      }
    }
  }

  /** The eight shapes of v5e and v6e; there are no others (Cloud TPU documentation, "TPU v5e"). */
  private static final List<Shape> PLANAR_SHAPES =
      List.of(
          Shape.of(1, 1),
          Shape.of(2, 2),
          Shape.of(2, 4),
          Shape.of(4, 4),
          Shape.of(4, 8),
          Shape.of(8, 8),
          Shape.of(8, 16),
          Shape.of(16, 16));

  /** TPU v2: a wired 16x16 torus. Source: RAY's accelerator tables; host shape assumed. */
  public static final AcceleratorType V2 =
      builder("v2")
          .podDims(Shape.of(16, 16))
          .boxShapes(List.of(), true)
          .hostTile(Shape.of(2, 2))
          .coresPerChip(2, 0)
          .typeName("v2", true)
          .iciLinksPerChip(4)
          .build();

  /**
   * TPU v3: a wired 32x32 torus; physical hosts of 4x2 chips, 4 chips a VM. Source: "How to Scale
   * Your Model".
   */
  public static final AcceleratorType V3 =
      builder("v3")
          .podDims(Shape.of(32, 32))
          .boxShapes(List.of(), true)
          .hostTile(Shape.of(2, 2))
          .physicalHostTile(Shape.of(4, 2))
          .coresPerChip(2, 0)
          .typeName("v3", true)
          .hbmGib(32)
          .bf16Tflops(140)
          .iciLinksPerChip(4)
          .iciLinkBytesPerSecond(1e11)
          .build();

  /**
   * TPU v4: 64 cubes of 4x4x4, all of which one slice may take by default: the documentation's
   * example 12x12x24 has 54; the largest slice that other sources list has 48 (12x16x16). Source:
   * Cloud TPU documentation, "TPU v4"; link rate from "How to Scale Your Model".
   */
  public static final AcceleratorType V4 =
      builder("v4")
          .podDims(Shape.of(16, 16, 16))
          .hostTile(Shape.of(2, 2, 1))
          .cubeEdge(4)
          .maxCubes(64)
          .coresPerChip(2, 4)
          .typeName("v4", true)
          .gkeAccelerator("tpu-v4-podslice")
          .hbmGib(32)
          .bf16Tflops(275)
          .iciLinksPerChip(6)
          .iciLinkBytesPerSecond(4.5e10)
          .machine("ct4p-hightpu-4t", 4, 0, 0)
          .build();

  /** TPU v5e: a wired 16x16 torus. Source: Cloud TPU documentation, "TPU v5e". */
  public static final AcceleratorType V5E =
      builder("v5e")
          .podDims(Shape.of(16, 16))
          .boxShapes(PLANAR_SHAPES, false)
          .hostTile(Shape.of(2, 2))
          .physicalHostTile(Shape.of(2, 4))
          .coresPerChip(1, 0)
          .typeName("v5litepod", false)
          .gkeAccelerator("tpu-v5-lite-podslice")
          .hbmGib(16)
          .bf16Tflops(197)
          .iciLinksPerChip(4)
          .iciLinkBytesPerSecond(5e10)
          .dcnGbitPerSecondPerChip(25)
          .machine("ct5lp-hightpu-1t", 1, 24, 48)
          .machine("ct5lp-hightpu-4t", 4, 112, 192)
          .machine("ct5lp-hightpu-8t", 8, 224, 384)
          .build();

  /**
   * TPU v5p: 140 cubes; the largest documented slice has 96 (16x16x24). Source: Cloud TPU
   * documentation, "TPU v5p".
   */
  public static final AcceleratorType V5P =
      builder("v5p")
          .podDims(Shape.of(16, 20, 28))
          .hostTile(Shape.of(2, 2, 1))
          .cubeEdge(4)
          .maxCubes(96)
          .coresPerChip(2, 4)
          .typeName("v5p", true)
          .gkeAccelerator("tpu-v5p-slice")
          .hbmGib(95)
          .bf16Tflops(459)
          .iciLinksPerChip(6)
          .iciLinkBytesPerSecond(1e11)
          .dcnGbitPerSecondPerChip(50)
          .machine("ct5p-hightpu-1t", 1, 0, 0)
          .machine("ct5p-hightpu-2t", 2, 0, 0)
          .machine("ct5p-hightpu-4t", 4, 208, 448)
          .build();

  /** TPU v6e: a wired 16x16 torus. Source: Cloud TPU documentation, "TPU v6e". */
  public static final AcceleratorType V6E =
      builder("v6e")
          .podDims(Shape.of(16, 16))
          .boxShapes(PLANAR_SHAPES, false)
          .hostTile(Shape.of(2, 2))
          .physicalHostTile(Shape.of(2, 4))
          .coresPerChip(1, 2)
          .typeName("v6e", false)
          .gkeAccelerator("tpu-v6e-slice")
          .hbmGib(32)
          .bf16Tflops(918)
          .iciLinksPerChip(4)
          .iciLinkBytesPerSecond(1e11)
          .dcnGbitPerSecondPerChip(100)
          .machine("ct6e-standard-1t", 1, 0, 0)
          .machine("ct6e-standard-4t", 4, 180, 720)
          .machine("ct6e-standard-8t", 8, 0, 0)
          .build();

  /**
   * TPU7x (Ironwood): a block of 144 cubes. How the block is laid out is not published; the chip
   * coordinates of a block are nominal (16x24x24). Source: Cloud TPU documentation, "TPU7x
   * (Ironwood)"; the limit of 9,216 chips a slice from the Slice resource's reference.
   */
  public static final AcceleratorType TPU7X =
      builder("tpu7x")
          .podDims(Shape.of(16, 24, 24))
          .hostTile(Shape.of(2, 2, 1))
          .cubeEdge(4)
          .maxCubes(144)
          .coresPerChip(2, 4)
          .typeName("tpu7x", true)
          .gkeAccelerator("tpu7x")
          .hbmGib(192)
          .bf16Tflops(2307)
          .iciLinksPerChip(6)
          .iciLinkBytesPerSecond(1e11)
          .dcnGbitPerSecondPerChip(100)
          .machine("tpu7x-standard-4t", 4, 224, 960)
          .build();

  private static final List<AcceleratorType> KNOWN = List.of(V2, V3, V4, V5E, V5P, V6E, TPU7X);

  private final Builder b;

  private AcceleratorType(Builder b) {
    this.b = b;
  }

  /**
   * The published TPUs, oldest first.
   *
   * @return an unmodifiable list
   */
  public static List<AcceleratorType> known() {
    return KNOWN;
  }

  /**
   * The published TPU of a name, in any case.
   *
   * @param name for example {@code v5p} or {@code TPU7x}
   * @return the type, or empty
   */
  public static Optional<AcceleratorType> byName(String name) {
    String wanted = name.toLowerCase(Locale.ROOT);
    return KNOWN.stream().filter(type -> type.name().equals(wanted)).findFirst();
  }

  /**
   * An accelerator-type name taken apart. Immutable, safe to share.
   *
   * @param type the accelerator
   * @param chips chips of the slice, 1 or more
   */
  public record TypeName(AcceleratorType type, long chips) {}

  /**
   * Reads an accelerator-type name such as {@code v5p-128} (128 TensorCores, 64 chips) or {@code
   * v6e-16} (16 chips).
   *
   * @param name the name; case does not matter
   * @return the type and its chips
   * @throws InvalidInputException if the type is unknown or the number is not a whole count of its
   *     cores or chips
   */
  public static TypeName parseTypeName(String name) {
    String text = name.toLowerCase(Locale.ROOT);
    int dash = text.lastIndexOf('-');
    if (dash > 0) {
      String prefix = text.substring(0, dash);
      String digits = text.substring(dash + 1);
      for (AcceleratorType type : KNOWN) {
        if ((prefix.equals(type.b.typePrefix) || prefix.equals(type.name()))
            && !digits.isEmpty()
            && digits.length() <= 9
            && digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
          long count = Long.parseLong(digits);
          int unit = type.b.typeCountsCores ? type.b.tensorCores : 1;
          if (count > 0 && count % unit == 0) {
            return new TypeName(type, count / unit);
          }
        }
      }
    }
    throw new InvalidInputException(
        "accelerator type",
        "acceleratorType",
        "expected a known type and a whole count, such as v5p-128 (TensorCores) or v6e-16 (chips),"
            + " but was \""
            + name
            + "\"");
  }

  /**
   * The accelerator-type name for a number of chips.
   *
   * @param chips 1 or more
   * @return for example {@code v5p-128} for 64 chips; the count is of TensorCores on v2, v3, v4,
   *     v5p and TPU7x, of chips on the others
   */
  public String typeName(long chips) {
    if (chips < 1) {
      throw new IllegalArgumentException("A slice has 1 chip or more, but was " + chips + ".");
    }
    return b.typePrefix + "-" + (b.typeCountsCores ? chips * b.tensorCores : chips);
  }

  /**
   * A builder for another vendor's or a research accelerator.
   *
   * @param name its name, lower case, for example {@code lab-torus}
   * @return a new builder
   */
  public static Builder builder(String name) {
    return new Builder(name);
  }

  /**
   * The name, lower case.
   *
   * @return for example {@code v5p}
   */
  public String name() {
    return b.name;
  }

  /**
   * The chips of a full pod along each axis.
   *
   * @return the dimensions
   */
  public Shape podDims() {
    return b.podDims;
  }

  /**
   * The number of axes of its torus.
   *
   * @return 2 or 3
   */
  public int rank() {
    return b.podDims.rank();
  }

  /**
   * The chips of one host, that is one VM, along each axis.
   *
   * @return the default tile
   */
  public Shape hostTile() {
    return b.hostTile;
  }

  /**
   * The chips of one physical machine along each axis: a failure domain.
   *
   * @return the tile; equal to {@link #hostTile()} where a machine is one VM
   */
  public Shape physicalHostTile() {
    return b.physicalHostTile;
  }

  /**
   * The edge of the cube that optical switches join.
   *
   * @return 4 on v4, v5p and TPU7x; 0 where there is none
   */
  public int cubeEdge() {
    return b.cubeEdge;
  }

  /**
   * Optical links that leave a cube, one from each chip of its six faces: what the optical switches
   * serve for it. Source for v4: notes on the TPUv4 papers (glennklockwood.com, "TPUv4"): 16 on
   * each face; v5p and TPU7x have the same cube.
   *
   * @return 96 on v4, v5p and TPU7x; 0 where there are no cubes
   */
  public int opticalLinksPerCube() {
    return 6 * b.cubeEdge * b.cubeEdge;
  }

  /**
   * The most cubes of one slice by default.
   *
   * @return 1 or more; 0 where there are no cubes
   */
  public int maxCubes() {
    return b.maxCubes;
  }

  /**
   * Which boxes are legal slices where this accelerator is sliced into boxes.
   *
   * @return the slicing
   */
  public Slicing.TorusBoxes boxes() {
    return new Slicing.TorusBoxes(b.boxShapes, b.powersOfTwo);
  }

  /**
   * TensorCores of a chip.
   *
   * @return 1 or more
   */
  public int tensorCoresPerChip() {
    return b.tensorCores;
  }

  /**
   * SparseCores of a chip.
   *
   * @return the count; 0 for none or not known
   */
  public int sparseCoresPerChip() {
    return b.sparseCores;
  }

  /**
   * High-bandwidth memory of a chip in GiB (published as GB on v3, v5e and v6e).
   *
   * @return the size, or empty if not known
   */
  public OptionalInt hbmGib() {
    return b.hbmGib == 0 ? OptionalInt.empty() : OptionalInt.of(b.hbmGib);
  }

  /**
   * Peak bf16 rate of a chip in TFLOP/s.
   *
   * @return the rate, or empty if not known
   */
  public OptionalDouble bf16Tflops() {
    return b.bf16Tflops == 0 ? OptionalDouble.empty() : OptionalDouble.of(b.bf16Tflops);
  }

  /**
   * ICI links of a chip in a full torus.
   *
   * @return 4 on 2-D, 6 on 3-D tori
   */
  public int iciLinksPerChip() {
    return b.iciLinks;
  }

  /**
   * One-way rate of one ICI link in bytes per second.
   *
   * @return the rate, or empty if not known
   */
  public OptionalDouble iciLinkBytesPerSecond() {
    return b.iciLinkBytesPerSecond == 0
        ? OptionalDouble.empty()
        : OptionalDouble.of(b.iciLinkBytesPerSecond);
  }

  /**
   * Data-centre network rate of a chip in Gbit/s.
   *
   * @return the rate, or empty if not known
   */
  public OptionalDouble dcnGbitPerSecondPerChip() {
    return b.dcnGbit == 0 ? OptionalDouble.empty() : OptionalDouble.of(b.dcnGbit);
  }

  /**
   * The machine types that host it, fewest chips first.
   *
   * @return an unmodifiable list, perhaps empty
   */
  public List<MachineType> machineTypes() {
    return b.machines;
  }

  /**
   * The value of GKE's label {@code cloud.google.com/gke-tpu-accelerator}.
   *
   * @return the value, or empty if there is none
   */
  public Optional<String> gkeAccelerator() {
    return b.gkeAccelerator.isEmpty() ? Optional.empty() : Optional.of(b.gkeAccelerator);
  }

  /**
   * A builder that starts from this type.
   *
   * @return a new builder
   */
  public Builder toBuilder() {
    return b.copy();
  }

  @Override
  public boolean equals(Object other) {
    return this == other || other instanceof AcceleratorType that && b.key().equals(that.b.key());
  }

  @Override
  public int hashCode() {
    return b.name.hashCode();
  }

  @Override
  public String toString() {
    return b.name;
  }

  /** Builds an {@link AcceleratorType}. Confined to one thread at a time. */
  public static final class Builder {
    private final String name;
    private Shape podDims = Shape.of(1, 1, 1);
    private Shape hostTile = Shape.of(1, 1, 1);
    private boolean hostSet;
    private Shape physicalHostTile = Shape.of(1, 1, 1);
    private boolean physicalSet;
    private int cubeEdge;
    private int maxCubes;
    private List<Shape> boxShapes = List.of();
    private boolean powersOfTwo;
    private int tensorCores = 1;
    private int sparseCores;
    private String typePrefix;
    private boolean typeCountsCores;
    private String gkeAccelerator = "";
    private int hbmGib;
    private double bf16Tflops;
    private int iciLinks;
    private boolean iciLinksSet;
    private double iciLinkBytesPerSecond;
    private double dcnGbit;
    private List<MachineType> machines = List.of();

    private Builder(String name) {
      this.name = Objects.requireNonNull(name, "name").toLowerCase(Locale.ROOT);
      this.typePrefix = this.name;
    }

    private Builder copy() {
      Builder c = new Builder(name);
      c.podDims = podDims;
      c.hostTile = hostTile;
      c.hostSet = hostSet;
      c.physicalHostTile = physicalHostTile;
      c.physicalSet = physicalSet;
      c.cubeEdge = cubeEdge;
      c.maxCubes = maxCubes;
      c.boxShapes = boxShapes;
      c.powersOfTwo = powersOfTwo;
      c.tensorCores = tensorCores;
      c.sparseCores = sparseCores;
      c.typePrefix = typePrefix;
      c.typeCountsCores = typeCountsCores;
      c.gkeAccelerator = gkeAccelerator;
      c.hbmGib = hbmGib;
      c.bf16Tflops = bf16Tflops;
      c.iciLinks = iciLinks;
      c.iciLinksSet = iciLinksSet;
      c.iciLinkBytesPerSecond = iciLinkBytesPerSecond;
      c.dcnGbit = dcnGbit;
      c.machines = machines;
      return c;
    }

    private List<Object> key() {
      return List.of(
          name,
          podDims,
          hostTile,
          physicalHostTile,
          cubeEdge,
          maxCubes,
          boxShapes,
          powersOfTwo,
          tensorCores,
          sparseCores,
          typePrefix,
          typeCountsCores,
          gkeAccelerator,
          hbmGib,
          bf16Tflops,
          iciLinks,
          iciLinkBytesPerSecond,
          dcnGbit,
          machines);
    }

    /**
     * Sets the chips of a full pod along each axis.
     *
     * @param value 2-D or 3-D
     * @return this
     */
    public Builder podDims(Shape value) {
      podDims = Objects.requireNonNull(value, "podDims");
      return this;
    }

    /**
     * Sets the chips of one host along each axis; the default is one chip.
     *
     * @param value of the pod's rank
     * @return this
     */
    public Builder hostTile(Shape value) {
      hostTile = Objects.requireNonNull(value, "hostTile");
      hostSet = true;
      return this;
    }

    /**
     * Sets the chips of one physical machine; the default is the host tile.
     *
     * @param value of the pod's rank
     * @return this
     */
    public Builder physicalHostTile(Shape value) {
      physicalHostTile = Objects.requireNonNull(value, "physicalHostTile");
      physicalSet = true;
      return this;
    }

    /**
     * Sets the edge of the cubes that optical switches join.
     *
     * @param value 0 for none, or 4
     * @return this
     */
    public Builder cubeEdge(int value) {
      cubeEdge = value;
      return this;
    }

    /**
     * Sets the most cubes of one slice.
     *
     * @param value 0 or more
     * @return this
     */
    public Builder maxCubes(int value) {
      maxCubes = value;
      return this;
    }

    /**
     * Sets which boxes are legal slices where this accelerator is sliced into boxes.
     *
     * @param shapes the legal shapes; empty for every host-aligned box
     * @param onlyPowersOfTwo whether every extent must be a power of two
     * @return this
     */
    public Builder boxShapes(List<Shape> shapes, boolean onlyPowersOfTwo) {
      boxShapes = new Slicing.TorusBoxes(shapes, onlyPowersOfTwo).shapes();
      powersOfTwo = onlyPowersOfTwo;
      return this;
    }

    /**
     * Sets the cores of a chip.
     *
     * @param tensor TensorCores, 1 or more
     * @param sparse SparseCores, 0 or more
     * @return this
     */
    public Builder coresPerChip(int tensor, int sparse) {
      tensorCores = tensor;
      sparseCores = sparse;
      return this;
    }

    /**
     * Sets how accelerator-type names are written.
     *
     * @param prefix what stands before the dash
     * @param countsCores whether the number counts TensorCores instead of chips
     * @return this
     */
    public Builder typeName(String prefix, boolean countsCores) {
      typePrefix = Objects.requireNonNull(prefix, "prefix");
      typeCountsCores = countsCores;
      return this;
    }

    /**
     * Sets the value of GKE's accelerator label.
     *
     * @param value the label's value; empty for none
     * @return this
     */
    public Builder gkeAccelerator(String value) {
      gkeAccelerator = Objects.requireNonNull(value, "gkeAccelerator");
      return this;
    }

    /**
     * Sets the memory of a chip in GiB.
     *
     * @param value 0 if not known
     * @return this
     */
    public Builder hbmGib(int value) {
      hbmGib = value;
      return this;
    }

    /**
     * Sets the peak bf16 rate in TFLOP/s.
     *
     * @param value 0 if not known
     * @return this
     */
    public Builder bf16Tflops(double value) {
      bf16Tflops = value;
      return this;
    }

    /**
     * Sets the ICI links of a chip; the default is two along each axis.
     *
     * @param value 0 or more
     * @return this
     */
    public Builder iciLinksPerChip(int value) {
      iciLinks = value;
      iciLinksSet = true;
      return this;
    }

    /**
     * Sets the one-way rate of one link in bytes per second.
     *
     * @param value 0 if not known
     * @return this
     */
    public Builder iciLinkBytesPerSecond(double value) {
      iciLinkBytesPerSecond = value;
      return this;
    }

    /**
     * Sets the data-centre network rate of a chip in Gbit/s.
     *
     * @param value 0 if not known
     * @return this
     */
    public Builder dcnGbitPerSecondPerChip(double value) {
      dcnGbit = value;
      return this;
    }

    /**
     * Adds a machine type.
     *
     * @param machine the platform's name
     * @param chips chips in it
     * @param vcpus virtual CPUs, 0 if not known
     * @param memoryGb memory in GB, 0 if not known
     * @return this
     */
    public Builder machine(String machine, int chips, int vcpus, int memoryGb) {
      List<MachineType> more = new ArrayList<>(machines);
      more.add(new MachineType(machine, chips, vcpus, memoryGb));
      more.sort(Comparator.comparingInt(MachineType::chips));
      machines = List.copyOf(more);
      return this;
    }

    /**
     * Checks and builds.
     *
     * @return the type
     * @throws InvalidInputException listing every problem
     */
    public AcceleratorType build() {
      Problems problems = new Problems();
      if (name.isEmpty() || !name.matches("[a-z0-9][-a-z0-9_.]*")) {
        problems.add("name", "expected letters, digits, '-', '_' or '.', but was \"" + name + "\"");
      }
      if (!hostSet) {
        hostTile = podDims.rank() == 2 ? Shape.of(1, 1) : Shape.of(1, 1, 1);
      }
      if (!physicalSet) {
        physicalHostTile = hostTile;
      }
      if (hostTile.rank() != podDims.rank() || physicalHostTile.rank() != podDims.rank()) {
        problems.add(
            "hostTile",
            "expected "
                + podDims.rank()
                + " extents, as podDims, but was "
                + hostTile
                + ", and physical "
                + physicalHostTile);
      } else {
        if (!divides(hostTile, podDims)) {
          problems.add("hostTile", "must divide the pod " + podDims + ", but was " + hostTile);
        }
        if (!divides(hostTile, physicalHostTile) || !divides(physicalHostTile, podDims)) {
          problems.add(
              "physicalHostTile",
              "must be whole hosts of "
                  + hostTile
                  + " and divide the pod "
                  + podDims
                  + ", but was "
                  + physicalHostTile);
        }
      }
      for (Shape shape : boxShapes) {
        if (shape.rank() != podDims.rank()) {
          problems.add(
              "boxShapes", "expected " + podDims.rank() + " extents, as podDims, but was " + shape);
        }
      }
      if (!iciLinksSet) {
        iciLinks = 2 * podDims.rank();
      }
      if (cubeEdge != 0 && cubeEdge != 4) {
        problems.add("cubeEdge", "expected 0 (no cubes) or 4, but was " + cubeEdge);
      }
      if (cubeEdge == 4 && (podDims.rank() != 3 || maxCubes < 1)) {
        problems.add("maxCubes", "cubes need 3-D pods and maxCubes of 1 or more: " + maxCubes);
      } else if (cubeEdge == 4
          && (podDims.x() % 4 != 0 || podDims.y() % 4 != 0 || podDims.z() % 4 != 0)) {
        problems.add("podDims", "expected whole cubes of 4x4x4, but was " + podDims);
      } else if (cubeEdge == 0 && maxCubes != 0) {
        problems.add("maxCubes", "expected 0 without cubes, but was " + maxCubes);
      }
      if (tensorCores < 1 || sparseCores < 0) {
        problems.add("coresPerChip", "expected 1 or more: " + tensorCores + ", " + sparseCores);
      }
      if (hbmGib < 0
          || iciLinks < 0
          || !isFigure(bf16Tflops)
          || !isFigure(iciLinkBytesPerSecond)
          || !isFigure(dcnGbit)) {
        problems.add("figures", "expected finite numbers, 0 (not known) or more");
      }
      problems.throwIfAny("accelerator type " + name);
      Builder frozen = copy();
      frozen.typeCountsCores = typeCountsCores && tensorCores > 1; // else the names are the same
      return new AcceleratorType(frozen);
    }

    private static boolean isFigure(double value) {
      return value >= 0 && value < Double.POSITIVE_INFINITY;
    }

    private static boolean divides(Shape tile, Shape whole) {
      return whole.x() % tile.x() == 0 && whole.y() % tile.y() == 0 && whole.z() % tile.z() == 0;
    }
  }
}
