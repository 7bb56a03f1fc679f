package dev.slicewright.formulation;

import dev.slicewright.formulation.Formulation.Capability;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** How the children of a {@link ProcessFormulation} are made and kept. Immutable, safe to share. */
record ProcessSettings(
    String type,
    String factory,
    String name,
    Set<Capability> capabilities,
    Path java,
    List<String> jvmOptions,
    String classPath,
    Map<String, String> environment,
    boolean warmUp,
    int maxProcesses,
    int solvesPerProcess,
    Duration idle,
    Duration grace,
    Duration startLimit) {}
