package dev.slicewright.formulation;

import dev.slicewright.Problem;
import dev.slicewright.Problems;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The formulations that the class path registers in {@code
 * META-INF/services/dev.slicewright.formulation.Formulation}, and what is wrong with those that
 * cannot be used. Immutable, safe to share.
 *
 * <p>A provider is a public class with a public constructor without arguments. One that cannot be
 * loaded or made, or that fails to say what it is called and what it can do, is a problem; the
 * others are there all the same. Native libraries of a provider should load when it first solves.
 *
 * @param formulations those that work, in the order of the class path
 * @param problems one for each that does not, with the provider's name where it is known
 */
public record DiscoveredFormulations(List<Formulation> formulations, List<Problem> problems) {

  private static final String PATH = "META-INF/services/" + Formulation.class.getName();

  /** Broken entries after which no more are looked for. */
  private static final int MOST_BROKEN = 100;

  /** Copies the lists. */
  public DiscoveredFormulations {
    formulations = List.copyOf(formulations);
    problems = List.copyOf(problems);
  }

  /**
   * Looks for registered formulations; each is made anew.
   *
   * @param loader where to look, or null for the system class loader
   * @return what there is
   */
  public static DiscoveredFormulations of(@Nullable ClassLoader loader) {
    Map<String, String> names = new TreeMap<>(); // and the class that has it
    List<Formulation> found = new ArrayList<>();
    Problems problems = new Problems();
    Iterator<ServiceLoader.Provider<Formulation>> providers =
        ServiceLoader.load(Formulation.class, loader).stream().iterator();
    int broken = 0;
    while (broken < MOST_BROKEN) {
      String path = PATH;
      try {
        if (!providers.hasNext()) {
          break;
        }
        ServiceLoader.Provider<Formulation> provider = providers.next();
        path = PATH + ": " + provider.type().getName();
        Formulation formulation = provider.get();
        String name = formulation.name();
        Set<Formulation.Capability> capabilities = formulation.capabilities();
        if (name == null || name.isBlank() || capabilities == null) {
          problems.add(path, "expected a name and capabilities, but it has none; return both");
          continue;
        }
        String other = names.putIfAbsent(name, path);
        if (other != null) {
          problems.add(
              path, "expected a name of its own, but " + name + " is also the name of " + other);
          continue;
        }
        found.add(formulation);
      } catch (ServiceConfigurationError | RuntimeException | LinkageError e) {
        broken++;
        problems.add(path, "expected a provider that can be made, but: " + reasons(e));
      } catch (StackOverflowError | AssertionError e) {
        broken++;
        problems.add(path, "expected a provider that can be made, but it failed with " + e);
      }
    }
    return new DiscoveredFormulations(found, problems.list());
  }

  /** What went wrong, and why in turn, on one line. */
  private static String reasons(Throwable e) {
    StringBuilder text = new StringBuilder(String.valueOf(e.getMessage()));
    int depth = 0;
    for (Throwable t = e.getCause(); t != null && depth < 5; t = t.getCause()) {
      text.append(" (").append(t).append(')');
      depth++;
    }
    if (e.getMessage() == null) {
      text.insert(0, e.getClass().getName() + " ");
    }
    return text.toString().replace('\n', ' ');
  }
}
