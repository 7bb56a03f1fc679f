package dev.slicewright;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.GeneralCodingRules.NO_CLASSES_SHOULD_ACCESS_STANDARD_STREAMS;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaConstructor;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.JavaParameterizedType;
import com.tngtech.archunit.core.domain.JavaType;
import com.tngtech.archunit.core.domain.JavaTypeVariable;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.EvaluationResult;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Which package may see which, and what a public signature may name. Each rule is also shown to
 * fail: on sources planted into the real packages.
 */
class ArchitectureTest {

  private static final String BASE = "dev.slicewright";

  /** What each package may see of the others; {@code ""} is the root package. */
  private static final Map<String, Set<String>> SEES = new TreeMap<>();

  static {
    SEES.put("", Set.of());
    floor("topology", "");
    floor("request", "topology");
    floor("fleet", "request");
    floor("cost", "fleet");
    floor("plan", "cost");
    floor("formulation", "");
    floor("formulation.files", "formulation");
    floor("formulation.ortools", "formulation");
    floor("search", "plan", "formulation");
    floor("solve", "search", "formulation.ortools", "formulation.files");
    floor("report", "solve");
    floor("simulate", "solve");
    floor("kubernetes", "solve");
    floor("slurm", "solve");
  }

  /** A package sees those that it stands on, and what they see. */
  private static void floor(String name, String... standsOn) {
    Set<String> sees = new TreeSet<>();
    for (String below : standsOn) {
      sees.add(below);
      sees.addAll(SEES.get(below));
    }
    SEES.put(name, sees);
  }

  private static final String[] NATIVE = {
    "com.google.ortools..", "com.google.protobuf..", "com.sun.jna.."
  };

  private static final Set<Class<?>> OPTIONALS =
      Set.of(Optional.class, OptionalInt.class, OptionalLong.class, OptionalDouble.class);

  private static final Map<String, ArchRule> RULES = new TreeMap<>();

  static {
    RULES.put(
        "arrows", classes().should(seeOnlyWhatTheirPackageMay()).as("packages see downwards"));
    RULES.put("cycles", slices().assignedFrom(byPackage()).should().beFreeOfCycles());
    RULES.put(
        "natives",
        noClasses()
            .that()
            .resideOutsideOfPackage(BASE + ".formulation.ortools")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(NATIVE));
    RULES.put(
        "json",
        noClasses()
            .that()
            .resideOutsideOfPackages(
                BASE + ".report", BASE + ".simulate", BASE + ".kubernetes", BASE + ".slurm")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("tools.jackson.."));
    RULES.put(
        "yaml",
        noClasses()
            .that()
            .resideOutsideOfPackages(BASE + ".kubernetes", BASE + ".slurm")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("tools.jackson.dataformat..", "org.snakeyaml.."));
    RULES.put(
        "cluster",
        noClasses()
            .that()
            .resideOutsideOfPackage(BASE + ".kubernetes")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.fabric8.."));
    // Model classes only: a client would bring HTTP.
    RULES.put(
        "client",
        noClasses()
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.fabric8.kubernetes.client.."));
    RULES.put(
        "signatures",
        classes().that(describe("are exposed", c -> isExposed(c))).should(nameNothingForeign()));
    RULES.put("streams", NO_CLASSES_SHOULD_ACCESS_STANDARD_STREAMS);
    RULES.put("statics", fields().that().areStatic().should().beFinal());
    RULES.put("optionals", classes().should(useOptionalOnlyAsReturnType()));
    RULES.put(
        "logging",
        noClasses()
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                "java.util.logging..",
                "org.slf4j..",
                "org.apache.logging..",
                "org.apache.commons.logging.."));
  }

  /** One for all, since it remembers what is in the jars. */
  private static final StandardJavaFileManager FILES =
      ToolProvider.getSystemJavaCompiler()
          .getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8);

  @TempDir Path planted;

  @AfterAll
  static void closeFiles() throws IOException {
    FILES.close();
  }

  @TestFactory
  Stream<DynamicTest> mainCodeKeepsEachRule() {
    JavaClasses main =
        new ClassFileImporter()
            .importUrl(CancelToken.class.getProtectionDomain().getCodeSource().getLocation());
    assertThat(main.contain("dev.slicewright.ArchitectureTest")).isFalse();
    assertThat(main.contain(CancelToken.class)).isTrue();
    return RULES.entrySet().stream()
        .map(rule -> DynamicTest.dynamicTest(rule.getKey(), () -> rule.getValue().check(main)));
  }

  @ParameterizedTest
  @MethodSource
  void ruleFindsWhatIsPlanted(String rule, List<String> sources) throws IOException {
    assertThat(violations(rule, sources)).as("violations of %s by %s", rule, sources).isNotEmpty();
  }

  static List<Arguments> ruleFindsWhatIsPlanted() {
    return List.of(
        // arrows
        planted("arrows", in("", "dev.slicewright.topology.Shape x;")),
        planted("arrows", in("topology", "dev.slicewright.request.Spread x;")),
        planted("arrows", in("request", "dev.slicewright.fleet.Fleet x;")),
        planted("arrows", in("fleet", "dev.slicewright.cost.CostTerms x;")),
        planted("arrows", in("cost", "dev.slicewright.plan.Plan x;")),
        planted("arrows", in("plan", "dev.slicewright.solve.SlicePlanner x;")),
        planted("arrows", in("plan", "dev.slicewright.search.PlacementSearch x;")),
        planted("arrows", in("plan", "dev.slicewright.formulation.PlacementModel x;")),
        planted("arrows", in("formulation", "dev.slicewright.topology.Shape x;")),
        planted(
            "arrows", in("formulation", "dev.slicewright.formulation.ortools.CpSatFormulation x;")),
        planted("arrows", in("formulation.ortools", "dev.slicewright.fleet.Fleet x;")),
        planted("arrows", in("formulation.files", "dev.slicewright.topology.Shape x;")),
        planted("arrows", in("search", "dev.slicewright.formulation.files.ModelFile x;")),
        planted("arrows", in("search", "dev.slicewright.formulation.ortools.CpSatFormulation x;")),
        planted("arrows", in("search", "dev.slicewright.solve.SlicePlanner x;")),
        planted("arrows", in("solve", "dev.slicewright.report.PodPicture x;")),
        planted("arrows", in("kubernetes", "dev.slicewright.report.PodPicture x;")),
        planted("arrows", in("slurm", "dev.slicewright.kubernetes.ObjectRef x;")),
        planted("arrows", in("solve", "dev.slicewright.kubernetes.ObjectRef x;")),
        planted("arrows", in("unheard", "int x;")),
        // An arrow hidden in a type argument, and in a body.
        planted("arrows", in("plan", "java.util.List<dev.slicewright.solve.SlicePlanner> x;")),
        planted("arrows", in("plan", "void m() { dev.slicewright.solve.SlicePlanner.create(); }")),
        planted(
            "cycles",
            "package dev.slicewright.cost; public class A { dev.slicewright.plan.B b; }",
            "package dev.slicewright.plan; public class B { dev.slicewright.cost.A a; }"),
        planted(
            "cycles",
            "package dev.slicewright.formulation; public class A {"
                + " dev.slicewright.formulation.ortools.B b; }",
            "package dev.slicewright.formulation.ortools; public class B {"
                + " dev.slicewright.formulation.A a; }"),
        // what only one package may name
        planted("natives", in("solve", "com.google.ortools.sat.CpModel x;")),
        planted(
            "natives", in("search", "Object m() { return com.google.protobuf.ByteString.EMPTY; }")),
        planted("natives", in("report", "com.sun.jna.Pointer x;")),
        planted("json", in("solve", "tools.jackson.databind.JsonNode x;")),
        planted("yaml", in("report", "tools.jackson.dataformat.yaml.YAMLMapper x;")),
        planted("cluster", in("slurm", "io.fabric8.kubernetes.api.model.Node x;")),
        planted("client", in("kubernetes", "io.fabric8.kubernetes.client.KubernetesClient x;")),
        // signatures
        planted(
            "signatures",
            in("solve", "public com.google.ortools.sat.CpModel m() { return null; }")),
        planted("signatures", in("solve", "public void m(com.google.protobuf.ByteString x) {}")),
        planted(
            "signatures",
            in("solve", "protected com.google.common.collect.ImmutableList<String> x;")),
        planted("signatures", in("solve", "public Planted(com.sun.jna.Pointer x) {}")),
        planted(
            "signatures",
            in(
                "solve",
                "public java.util.Optional<com.google.ortools.sat.CpModel> m() { return null; }")),
        planted(
            "signatures",
            in("solve", "public java.util.List<? super com.google.protobuf.Message>[] x;")),
        planted(
            "signatures",
            in("solve", "public <T extends com.google.common.base.Ticker> void m(T x) {}")),
        planted(
            "signatures",
            in(
                "solve",
                "public void m() throws com.google.protobuf.InvalidProtocolBufferException {}")),
        planted("signatures", in("report", "public tools.jackson.databind.JsonNode x;")),
        planted(
            "signatures",
            in(
                "solve",
                "public record R(java.util.Map<String, com.google.ortools.sat.IntVar> x) {}")),
        planted(
            "signatures",
            in(
                "solve",
                "public enum E { A; public com.google.common.base.Joiner x() { return null; } }")),
        planted(
            "signatures",
            "package dev.slicewright.solve; public interface Planted extends"
                + " java.util.function.Supplier<com.google.ortools.sat.CpModel> {}"),
        planted(
            "signatures",
            "package dev.slicewright.solve; public class Planted<T extends"
                + " com.google.protobuf.Message> {}"),
        planted(
            "signatures",
            "package dev.slicewright.solve; public abstract class Planted extends Hidden {}"
                + " abstract class Hidden extends com.google.common.collect.ForwardingObject {}"),
        planted(
            "signatures",
            "package dev.slicewright.solve; public class Planted extends Hidden {}"
                + " class Hidden { public com.google.ortools.sat.CpModel m() { return null; } }"),
        // the rest
        planted("streams", in("solve", "void m() { System.out.println(); }")),
        planted("streams", in("solve", "void m(Throwable t) { t.printStackTrace(); }")),
        planted("streams", in("solve", "Object m() { return System.err; }")),
        planted("statics", in("solve", "private static int x;")),
        planted("optionals", in("solve", "private java.util.OptionalInt x;")),
        planted("optionals", in("solve", "java.util.List<java.util.Optional<String>> x;")),
        planted("optionals", in("solve", "void m(java.util.Optional<String> x) {}")),
        planted("optionals", in("solve", "Planted(java.util.OptionalLong x) {}")),
        planted("optionals", in("solve", "record R(java.util.OptionalDouble x) {}")),
        planted(
            "optionals",
            in("solve", "java.util.List<java.util.Optional<String>> m() { return null; }")),
        planted("logging", in("solve", "java.util.logging.Logger x;")),
        planted("logging", in("solve", "org.slf4j.Logger x;")));
  }

  @Test
  void rulesLeaveAloneWhatIsAllowed() throws IOException {
    List<String> sources =
        List.of(
            in(
                "formulation.ortools",
                "private com.google.ortools.sat.CpModel x;"
                    + "com.google.ortools.sat.CpModel m() { return x; }"
                    + "public dev.slicewright.formulation.PlacementModel n() { return null; }"),
            in(
                "solve",
                "static final int X = 1;"
                    + "private com.google.common.collect.ImmutableList<String> x;"
                    + "dev.slicewright.formulation.ortools.CpSatFormulation n;"
                    + "public java.util.Optional<String> m() {"
                    + "  return x.stream().findFirst().map(s -> s + X); }"
                    + "public org.jgrapht.Graph<String, Integer> g() { return null; }"),
            in("report", "private tools.jackson.databind.JsonNode x; dev.slicewright.plan.Plan p;"),
            in(
                "kubernetes",
                "public io.fabric8.kubernetes.api.model.Node x;"
                    + "private tools.jackson.dataformat.yaml.YAMLMapper y;"));

    for (String rule : RULES.keySet()) {
      assertThat(violations(rule, sources)).as("violations of %s", rule).isEmpty();
    }
  }

  // ---------------------------------------------------------------- rules of our own

  private static String shortName(JavaClass type) {
    String name = type.getPackageName();
    return name.equals(BASE) ? "" : name.substring(BASE.length() + 1);
  }

  private static boolean isOurs(JavaClass type) {
    return type.getPackageName().equals(BASE) || type.getPackageName().startsWith(BASE + ".");
  }

  private static ArchCondition<JavaClass> seeOnlyWhatTheirPackageMay() {
    return new ArchCondition<>("see only what their package may") {
      @Override
      public void check(JavaClass type, ConditionEvents events) {
        String own = shortName(type);
        Set<String> sees = SEES.get(own);
        if (sees == null) {
          events.add(
              SimpleConditionEvent.violated(
                  type, "package " + own + " is new: say here what it may see"));
          return;
        }
        for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
          JavaClass target = dependency.getTargetClass().getBaseComponentType();
          if (isOurs(target)
              && !shortName(target).equals(own)
              && !sees.contains(shortName(target))) {
            events.add(SimpleConditionEvent.violated(type, dependency.getDescription()));
          }
        }
      }
    };
  }

  private static SliceAssignment byPackage() {
    return new SliceAssignment() {
      @Override
      public String getDescription() {
        return "packages";
      }

      @Override
      public SliceIdentifier getIdentifierOf(JavaClass type) {
        return isOurs(type) ? SliceIdentifier.of(type.getPackageName()) : SliceIdentifier.ignore();
      }
    };
  }

  private static boolean isExposed(JavaClass type) {
    return isExposed(type.getModifiers())
        && type.getEnclosingClass().map(ArchitectureTest::isExposed).orElse(true);
  }

  private static boolean isExposed(Set<JavaModifier> modifiers) {
    return !modifiers.contains(JavaModifier.SYNTHETIC)
        && (modifiers.contains(JavaModifier.PUBLIC) || modifiers.contains(JavaModifier.PROTECTED));
  }

  private static ArchCondition<JavaClass> nameNothingForeign() {
    return new ArchCondition<>(
        "name nothing of OR-Tools, protobuf, Guava, JNA or Jackson in a signature") {
      @Override
      public void check(JavaClass type, ConditionEvents events) {
        List<JavaType> head = new ArrayList<>(type.getTypeParameters());
        Stream.concat(Stream.of(type), type.getAllRawSuperclasses().stream())
            .forEach(c -> c.getSuperclass().ifPresent(head::add));
        Stream.concat(
                Stream.concat(Stream.of(type), type.getAllRawSuperclasses().stream()),
                type.getAllRawInterfaces().stream())
            .forEach(c -> head.addAll(c.getInterfaces()));
        report(type.getDescription(), type, head, events);
        // Inherited members too: a public type shows those of a hidden supertype.
        for (JavaMember member : type.getAllMembers()) {
          boolean inherited = !member.getOwner().equals(type);
          if (isExposed(member.getModifiers())
              && !(inherited && member instanceof JavaConstructor)) {
            report(member.getFullName(), type, typesOf(member), events);
          }
        }
      }

      private void report(
          String where, JavaClass type, Collection<? extends JavaType> types, ConditionEvents to) {
        Set<String> foreign = new TreeSet<>();
        for (JavaType named : types) {
          for (JavaClass raw : named.getAllInvolvedRawTypes()) {
            if (isForeign(raw.getBaseComponentType().getPackageName())) {
              foreign.add(raw.getName());
            }
          }
        }
        if (!foreign.isEmpty()) {
          to.add(SimpleConditionEvent.violated(type, where + " names " + foreign));
        }
      }
    };
  }

  private static List<JavaType> typesOf(JavaMember member) {
    List<JavaType> types = new ArrayList<>();
    if (member instanceof JavaField field) {
      types.add(field.getType());
    } else if (member instanceof JavaCodeUnit unit) {
      types.add(unit.getReturnType());
      types.addAll(unit.getParameterTypes());
      for (JavaTypeVariable<?> variable : unit.getTypeParameters()) {
        types.add(variable);
      }
      types.addAll(unit.getExceptionTypes());
    }
    return types;
  }

  private static boolean isForeign(String name) {
    return Stream.of(
            "com.google.ortools",
            "com.google.protobuf",
            "com.google.common",
            "com.sun.jna",
            "tools.jackson")
        .anyMatch(p -> name.equals(p) || name.startsWith(p + "."));
  }

  private static ArchCondition<JavaClass> useOptionalOnlyAsReturnType() {
    return new ArchCondition<>("use Optional only as the return type of a method") {
      @Override
      public void check(JavaClass type, ConditionEvents events) {
        for (JavaMember member : type.getMembers()) {
          if (member.getModifiers().contains(JavaModifier.SYNTHETIC)) {
            continue; // lambdas
          }
          List<JavaType> types = new ArrayList<>();
          if (member instanceof JavaField field) {
            types.add(field.getType());
          } else if (member instanceof JavaCodeUnit unit) {
            types.addAll(unit.getParameterTypes());
          }
          if (member instanceof JavaMethod method) {
            // The return type may be one, and what is inside it may not.
            if (!isOptional(method.getRawReturnType())) {
              types.add(method.getReturnType());
            } else if (method.getReturnType() instanceof JavaParameterizedType of) {
              types.addAll(of.getActualTypeArguments());
            }
          }
          if (types.stream()
              .flatMap(t -> t.getAllInvolvedRawTypes().stream())
              .anyMatch(ArchitectureTest::isOptional)) {
            events.add(SimpleConditionEvent.violated(type, member.getFullName()));
          }
        }
      }
    };
  }

  private static boolean isOptional(JavaClass type) {
    return OPTIONALS.stream().anyMatch(type::isEquivalentTo);
  }

  // ---------------------------------------------------------------- planting

  private static Arguments planted(String rule, String... sources) {
    return Arguments.of(rule, List.of(sources));
  }

  /** A public class {@code Planted} of a package, with this body. */
  private static String in(String name, String body) {
    return "package "
        + BASE
        + (name.isEmpty() ? "" : "." + name)
        + "; public class Planted { "
        + body
        + " }";
  }

  private List<String> violations(String rule, List<String> sources) throws IOException {
    StringWriter said = new StringWriter();
    FILES.setLocationFromPaths(StandardLocation.CLASS_OUTPUT, List.of(planted));
    boolean compiled =
        ToolProvider.getSystemJavaCompiler()
            .getTask(
                said,
                FILES,
                null,
                List.of("-proc:none"),
                null,
                sources.stream().map(Source::new).toList())
            .call();
    assertThat(compiled).as("compiles: %s%n%s", sources, said).isTrue();
    EvaluationResult result =
        RULES
            .get(rule)
            .allowEmptyShould(true)
            .evaluate(new ClassFileImporter().importPath(planted));
    return result.getFailureReport().getDetails();
  }

  private static final class Source extends SimpleJavaFileObject {

    private static final Pattern NAME =
        Pattern.compile("package ([\\w.]+);.*?public (?:abstract )?(?:class|interface) (\\w+)");

    private final String text;

    Source(String text) {
      super(URI.create("string:///" + path(text)), JavaFileObject.Kind.SOURCE);
      this.text = text;
    }

    private static String path(String text) {
      Matcher m = NAME.matcher(text);
      assertThat(m.find()).as("a package and a public type in %s", text).isTrue();
      return (m.group(1) + "." + m.group(2)).replace('.', '/') + ".java";
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }
}
