package dev.slicewright;

import static java.util.Objects.requireNonNullElse;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.doctree.DocCommentTree;
import com.sun.source.doctree.ParamTree;
import com.sun.source.doctree.ReturnTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ModifiersTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;
import javax.lang.model.element.Modifier;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;

/**
 * Reads the sources of the library as the compiler does and checks what the Javadoc of the public
 * face has to say. Unlike doclint it asks nothing of a record's compact constructor, whose
 * parameters are the components, documented at the record.
 */
class DocumentationTest {

  private static final Path SOURCES = Path.of("src", "main", "java");

  private static final List<String> SHARING =
      List.of(
          "Immutable, safe to share.",
          "Safe for concurrent use.",
          "Confined to one thread at a time.",
          "Not safe; external synchronisation needed.");

  @Test
  void everyPublicTypeSaysHowItMayBeShared() throws IOException {
    List<String> missing = new ArrayList<>();
    new PublicFace() {
      @Override
      void type(ClassTree type, String name, String text) {
        if (SHARING.stream().noneMatch(text::contains)) {
          missing.add(name);
        }
      }
    }.read();

    assertThat(missing).as("public types without one of the sentences %s", SHARING).isEmpty();
  }

  @Test
  void everyPublicElementIsDocumented() throws IOException {
    List<String> missing = new ArrayList<>();
    new PublicFace() {
      @Override
      void type(ClassTree type, String name, String text) {
        if (text.isEmpty()) {
          missing.add(name + ": no comment");
        }
        boolean record = type.getKind() == Tree.Kind.RECORD;
        Set<String> documented = params(comment());
        for (Tree member : type.getMembers()) {
          if (record && member instanceof VariableTree component && !isStatic(component)) {
            if (!documented.contains(component.getName().toString())) {
              missing.add(name + ": no @param " + component.getName());
            }
          }
        }
      }

      @Override
      void method(MethodTree method, String name, String text) {
        if (text.isEmpty()) {
          missing.add(name + ": no comment");
          return;
        }
        Set<String> documented = params(comment());
        for (VariableTree parameter : method.getParameters()) {
          if (!documented.contains(parameter.getName().toString())) {
            missing.add(name + ": no @param " + parameter.getName());
          }
        }
        if (method.getReturnType() != null
            && !method.getReturnType().toString().equals("void")
            && !returns(comment())) {
          missing.add(name + ": no @return");
        }
      }

      @Override
      void field(VariableTree field, String name, String text) {
        if (text.isEmpty()) {
          missing.add(name + ": no comment");
        }
      }
    }.read();

    assertThat(missing).as("gaps in the public documentation").isEmpty();
  }

  private static boolean isStatic(VariableTree field) {
    return field.getModifiers().getFlags().contains(Modifier.STATIC);
  }

  private static Set<String> params(DocCommentTree comment) {
    Set<String> names = new HashSet<>();
    if (comment != null) {
      for (var tag : comment.getBlockTags()) {
        if (tag instanceof ParamTree param && !param.isTypeParameter()) {
          names.add(param.getName().toString());
        }
      }
    }
    return names;
  }

  private static boolean returns(DocCommentTree comment) {
    return Stream.concat(comment.getBlockTags().stream(), comment.getFirstSentence().stream())
        .anyMatch(ReturnTree.class::isInstance);
  }

  /** Walks over public and protected elements that a user can reach. */
  private abstract static class PublicFace extends TreePathScanner<Void, Void> {

    private DocTrees trees;

    void read() throws IOException {
      var compiler = ToolProvider.getSystemJavaCompiler();
      List<Path> files;
      try (Stream<Path> walk = Files.walk(SOURCES)) {
        files = walk.filter(f -> f.toString().endsWith(".java")).sorted().toList();
      }
      assertThat(files).as("sources under %s", SOURCES).isNotEmpty();
      try (StandardJavaFileManager manager =
          compiler.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8)) {
        JavacTask task =
            (JavacTask)
                compiler.getTask(
                    null,
                    manager,
                    null,
                    List.of("-proc:none"),
                    null,
                    manager.getJavaFileObjectsFromPaths(files));
        trees = DocTrees.instance(task);
        for (CompilationUnitTree unit : task.parse()) {
          scan(unit, null);
        }
      }
    }

    abstract void type(ClassTree type, String name, String text);

    void method(MethodTree method, String name, String text) {}

    void field(VariableTree field, String name, String text) {}

    DocCommentTree comment() {
      return trees.getDocCommentTree(getCurrentPath());
    }

    @Override
    public Void visitClass(ClassTree type, Void unused) {
      if (!isExposed(type.getModifiers())) {
        return null;
      }
      type(type, name(), text());
      return super.visitClass(type, null);
    }

    @Override
    public Void visitMethod(MethodTree method, Void unused) {
      if (isExposed(method.getModifiers()) && !overrides(method) && !isCompact(method)) {
        method(method, name(), text());
      }
      return null;
    }

    @Override
    public Void visitVariable(VariableTree field, Void unused) {
      if (isExposed(field.getModifiers())) {
        field(field, name(), text());
      }
      return null;
    }

    private boolean isExposed(ModifiersTree modifiers) {
      Set<Modifier> flags = modifiers.getFlags();
      return flags.contains(Modifier.PUBLIC)
          || flags.contains(Modifier.PROTECTED)
          || (!flags.contains(Modifier.PRIVATE)
              && getCurrentPath().getParentPath().getLeaf() instanceof ClassTree owner
              && owner.getKind() == Tree.Kind.INTERFACE);
    }

    private static boolean overrides(MethodTree method) {
      return method.getModifiers().getAnnotations().stream()
          .anyMatch(a -> a.getAnnotationType().toString().equals("Override"));
    }

    /**
     * The tree of a compact constructor has the components as parameters; its source has no list.
     */
    private boolean isCompact(MethodTree method) {
      if (method.getReturnType() != null
          || getCurrentPath().getParentPath().getLeaf().getKind() != Tree.Kind.RECORD) {
        return false;
      }
      CompilationUnitTree unit = getCurrentPath().getCompilationUnit();
      var positions = trees.getSourcePositions();
      long modifiersEnd = positions.getEndPosition(unit, method.getModifiers());
      long bodyStart = positions.getStartPosition(unit, method.getBody());
      return source(unit).substring((int) modifiersEnd, (int) bodyStart).indexOf('(') < 0;
    }

    private static String source(CompilationUnitTree unit) {
      try {
        return unit.getSourceFile().getCharContent(true).toString();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private String text() {
      return requireNonNullElse(trees.getDocComment(getCurrentPath()), "")
          .replaceAll("\\s+", " ")
          .strip();
    }

    private String name() {
      StringBuilder name = new StringBuilder();
      for (TreePath path = getCurrentPath(); path != null; path = path.getParentPath()) {
        Tree leaf = path.getLeaf();
        if (leaf instanceof ClassTree type) {
          name.insert(0, "." + type.getSimpleName());
        } else if (leaf instanceof MethodTree method) {
          name.insert(0, "." + method.getName());
        } else if (leaf instanceof VariableTree variable) {
          name.insert(0, "." + variable.getName());
        } else if (leaf instanceof CompilationUnitTree unit && unit.getPackageName() != null) {
          name.insert(0, unit.getPackageName());
        }
      }
      return name.toString();
    }
  }
}
