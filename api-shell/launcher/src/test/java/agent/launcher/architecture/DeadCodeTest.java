package agent.launcher.architecture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.Numbered;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaConstructor;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Finds main code that no other class of main code uses. Error Prone finds private members that are
 * not used; this test finds classes and members with a wider access. A member that only tests use
 * is dead; one that its own class uses stays wider than private only where a test calls it.
 *
 * <p>Exempt are:
 *
 * <ul>
 *   <li>constructors and accessors of records, and what the language adds to enums;
 *   <li>methods that override another one, which is judged in their place, or one of a library;
 *   <li>{@code main}, and what javac generates;
 *   <li>constructors without parameters, because the class itself is checked;
 *   <li>setters of a context: clocks, intervals and limits are there for tests, too;
 *   <li>members of classes that are generated from BTF, and enums among these: they have every
 *       member of a C struct or enum, of which {@link UnusedConstantsTest} finds what nothing uses;
 *   <li>the API client: it has one method for each route, for other programs;
 *   <li>lookups of typed maps: tests read with them what the agent has written.
 * </ul>
 *
 * <p>Constants are searched in the sources, because javac inlines them.
 */
class DeadCodeTest {
  /** What is not used and stays, each with the reason. */
  private static final Map<String, String> EXCEPTIONS =
      Map.ofEntries(
          Map.entry(
              "agent.bindings.bpf.BpfLink.createTcx(BpfProgram, int, boolean)",
              "tests attach the programs of other tools with it"),
          Map.entry(
              "agent.bindings.bpf.ProgramTestRun.receivedBy(int)",
              "tests run a program on packets that the node forwards"),
          Map.entry(
              "agent.bindings.bpf.ProgramTestRun.splitInto(int)",
              "tests run a program on packets that a device splits"),
          Map.entry(
              "agent.bindings.bpf.ProgramTestRun.output()",
              "tests read the packet that a program has left"),
          Map.entry(
              "agent.l7proxy.HttpProxy.descriptors()",
              "tests hold that none is left after all clients"),
          Map.entry(
              "agent.l7proxy.HttpProxy.bufferBytes()",
              "tests hold a bound on the memory of buffers"),
          Map.entry(
              "agent.state.StateFolder.<init>(FolderFiles, String, Codec, Faults)",
              "tests of one folder, of which no file is missed"),
          Map.entry(
              "agent.maps.kernel.PolicyMap.delete(int, int, int, int, int)",
              "tests change the map as other tools do, and set up nodes without an agent"),
          Map.entry("agent.maps.kernel.EndpointMap.clear(int)", "see PolicyMap.delete"),
          Map.entry(
              "agent.maps.kernel.BatchWriter.deleteAll()",
              "tests delete with it while they walk a map"),
          Map.entry(
              "agent.maps.kernel.EndpointRates.fragmentsOverflowed()",
              "tests of the programs; operators read it in the map"),
          Map.entry(
              "agent.maps.kernel.FlowUsageArray.isOverflowUsed()",
              "tests of the programs and of the sweeps"),
          Map.entry(
              "agent.datapath.spec.DatapathMetrics.packets(int, int)",
              "tests read one counter; /metrics reads all of them"),
          Map.entry(
              "agent.datapath.spec.PolicyVerdict.audited()",
              "the verdict of audit mode, which the policy engine does not have yet"),
          Map.entry("agent.datapath.spec.PolicyVerdict.isAudited()", "see audited()"),
          Map.entry(
              "agent.datapath.manager.DatapathManager.conductorExecuted()",
              "tests count the commands between a request and its answer"),
          Map.entry(
              "agent.node.NodeStore.inMemory()",
              "tests of two modules need it; those of policies and endpoints are defaults, too"));

  /** A method of a class at the top of its file that is neither private nor an override. */
  private static final Pattern METHOD =
      Pattern.compile(
          "(?m)(?<!@Override)\\n  (?! |private |@|\\}|\\*|/)[\\w<>\\[\\], ]*?(\\w+)\\(");

  private static final Pattern COMMENT_OR_STRING =
      Pattern.compile("(?s)//[^\\n]*|/\\*.*?\\*/|\"(?:\\\\.|[^\"\\\\\\n])*+\"");

  private static final Class<?> LAYOUTS = Numbered.class;

  /** What the build adds to that package is beside the classes. */
  private static final Path LAYOUT_SOURCES =
      ProjectFiles.ROOT.resolve("maps/src/main/java/agent/maps/layout");

  private static final Pattern WORD = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

  private static JavaClasses classes;

  /** Identifiers of each file of the benchmarks, which are built after this module. */
  private static List<Set<String>> benchmarks;

  private static Set<String> testWords;

  /** Identifier to the main sources that hold it. */
  private static Map<String, Set<String>> filesOfWord;

  @BeforeAll
  static void importClasses() {
    classes = ImportDirectionTest.MainClasses.IMPORTED;
    benchmarks = new ArrayList<>();
    testWords = new HashSet<>();
    filesOfWord = new HashMap<>();
    ProjectFiles.sources()
        .filter(file -> file.toString().endsWith(".java"))
        .forEach(
            file -> {
              final Set<String> words = words(file);
              if (file.startsWith(ProjectFiles.ROOT.resolve("benchmarks"))) {
                benchmarks.add(words);
              } else if (file.toString().contains("/src/test/")) {
                testWords.addAll(words);
              } else if (file.toString().contains("/src/main/")) {
                final String name = file.getFileName().toString();
                words.forEach(
                    word -> filesOfWord.computeIfAbsent(word, key -> new HashSet<>()).add(name));
              }
            });
  }

  @Test
  void shouldUseEveryClassAndMember() {
    final Set<String> found =
        classes.stream()
            .filter(type -> !type.getPackageName().equals("agent.bindings.libbpf"))
            .filter(type -> !type.isAnonymousClass())
            .flatMap(DeadCodeTest::unused)
            .filter(name -> !EXCEPTIONS.containsKey(name))
            .collect(Collectors.toCollection(TreeSet::new));
    assertEquals("", String.join("\n", found));
  }

  /** Tests are the users of the test kit: each name occurs in a second file. */
  @Test
  void shouldUseEveryMemberOfTheTestKit() {
    final Path kit = ProjectFiles.ROOT.resolve("datapath/testkit/src/main");
    final Map<Path, Set<String>> words =
        ProjectFiles.sources()
            .filter(file -> file.toString().endsWith(".java"))
            .collect(Collectors.toMap(file -> file, DeadCodeTest::words));
    final Set<String> found = new TreeSet<>();
    words.keySet().stream()
        .filter(file -> file.startsWith(kit))
        .forEach(
            file ->
                METHOD
                    .matcher(ProjectFiles.text(file))
                    .results()
                    .map(match -> match.group(1))
                    .filter(name -> !file.endsWith(name + ".java"))
                    .filter(name -> isInNoOtherFile(name, file, words))
                    .forEach(name -> found.add(file.getFileName() + ": " + name)));
    assertEquals("", String.join("\n", found));
  }

  private static boolean isInNoOtherFile(String name, Path own, Map<Path, Set<String>> words) {
    return words.entrySet().stream()
        .noneMatch(other -> !other.getKey().equals(own) && other.getValue().contains(name));
  }

  @Test
  void shouldHaveNoExceptionForWhatIsUsedOrGone() {
    final Set<String> unused =
        classes.stream().flatMap(DeadCodeTest::unused).collect(Collectors.toSet());
    final Set<String> stale = new TreeSet<>(EXCEPTIONS.keySet());
    stale.removeAll(unused);
    assertTrue(stale.isEmpty(), stale.toString());
  }

  private static Stream<String> unused(JavaClass type) {
    if (type.getSimpleName().equals("package-info") || hasMain(type)) {
      return members(type);
    }
    final boolean isUsed =
        type.getDirectDependenciesToSelf().stream()
                .map(dependency -> dependency.getOriginClass())
                .anyMatch(origin -> !isInside(origin, type))
            || benchmarks.stream().anyMatch(words -> words.contains(type.getSimpleName()))
            || type.isEnum() && isGenerated(type)
            || hasConstants(type) && isNamedElsewhere(type.getSimpleName(), type)
            || type.getAllSubclasses().stream().anyMatch(subclass -> !isInside(subclass, type));
    return isUsed ? members(type) : Stream.of(type.getName());
  }

  private static Stream<String> members(JavaClass type) {
    return type.getMembers().stream()
        .filter(member -> !isExempt(member))
        .filter(member -> !isUsed(member))
        .map(DeadCodeTest::name);
  }

  private static String name(JavaMember member) {
    return member instanceof JavaCodeUnit unit
        ? unit.getOwner().getName()
            + "."
            + unit.getName()
            + unit.getRawParameterTypes().stream()
                .map(JavaClass::getSimpleName)
                .collect(Collectors.joining(", ", "(", ")"))
        : member.getFullName();
  }

  private static boolean isExempt(JavaMember member) {
    final Set<JavaModifier> modifiers = member.getModifiers();
    final JavaClass owner = member.getOwner();
    if (modifiers.contains(JavaModifier.PRIVATE)
        || modifiers.contains(JavaModifier.SYNTHETIC)
        || modifiers.contains(JavaModifier.BRIDGE)
        || member.getName().startsWith("lambda$")) {
      return true;
    }
    if (isGenerated(owner)
        || owner.getSimpleName().endsWith("Flyweight")
        || owner.getPackageName().equals("agent.client")
        || isReadOfTypedMap(member)) {
      return true;
    }
    return switch (member) {
      case JavaField field -> isEnumConstant(field) || field.getName().startsWith("$");
      case JavaConstructor constructor ->
          owner.isRecord() || owner.isEnum() || isImplicit(constructor);
      case JavaMethod method ->
          owner.isRecord() && isAccessor(method)
              || owner.isEnum() && Set.of("values", "valueOf").contains(method.getName())
              || method.getName().equals("main")
              || isContextSetter(method)
              || isOverride(method);
      default -> false;
    };
  }

  private static boolean isGenerated(JavaClass type) {
    return type.getPackageName().equals(LAYOUTS.getPackageName())
        && !Files.exists(LAYOUT_SOURCES.resolve(outermost(type).getSimpleName() + ".java"));
  }

  private static boolean isReadOfTypedMap(JavaMember member) {
    return member.getOwner().getPackageName().equals("agent.maps.kernel")
        && Set.of("lookup", "found", "get").contains(member.getName());
  }

  /** A constructor without a body of its own: the class is judged, not its constructor. */
  private static boolean isImplicit(JavaConstructor constructor) {
    return constructor.getRawParameterTypes().isEmpty();
  }

  private static boolean isContextSetter(JavaMethod method) {
    return method.getOwner().getSimpleName().endsWith("Context")
        && method.getRawReturnType().equals(method.getOwner())
        && !method.getRawParameterTypes().isEmpty();
  }

  /** Whether the method overrides one of a class above, of ours or of a library. */
  private static boolean isOverride(JavaMethod method) {
    return !method.getModifiers().contains(JavaModifier.STATIC)
        && Stream.concat(
                method.getOwner().getAllRawSuperclasses().stream(),
                method.getOwner().getAllRawInterfaces().stream())
            .flatMap(above -> above.getMethods().stream())
            .anyMatch(above -> overrides(method, above));
  }

  private static boolean isEnumConstant(JavaField field) {
    return field.getModifiers().contains(JavaModifier.ENUM);
  }

  private static boolean isAccessor(JavaMethod method) {
    return method.getRawParameterTypes().isEmpty()
        && method.getOwner().tryGetField(method.getName()).isPresent();
  }

  private static boolean isUsed(JavaMember member) {
    final String owner = outermost(member.getOwner()).getSimpleName();
    if (benchmarks.stream()
        .anyMatch(words -> words.contains(owner) && words.contains(nameInSource(member)))) {
      return true;
    }
    if (member instanceof JavaMethod method) {
      final Set<JavaMethod> family = family(method);
      return family.stream().anyMatch(DeadCodeTest::isAccessed)
          || family.size() > 1 && family.stream().anyMatch(DeadCodeTest::isCalled);
    }
    return isAccessed(member) || member instanceof JavaField field && isNamedElsewhere(field);
  }

  /** A class may call its own method where a subclass overrides it. */
  private static boolean isCalled(JavaMethod method) {
    return !method.getAccessesToSelf().isEmpty();
  }

  private static boolean isAccessed(JavaMember member) {
    final Set<JavaClass> users =
        member.getAccessesToSelf().stream()
            .map(JavaAccess::getOriginOwner)
            .collect(Collectors.toSet());
    return users.stream().anyMatch(user -> !user.equals(member.getOwner()))
        || !users.isEmpty() && testWords.contains(nameInSource(member));
  }

  private static String nameInSource(JavaMember member) {
    return member instanceof JavaConstructor ? member.getOwner().getSimpleName() : member.getName();
  }

  private static boolean isNamedElsewhere(JavaField field) {
    final Set<JavaModifier> modifiers = field.getModifiers();
    if (!modifiers.contains(JavaModifier.STATIC) || !modifiers.contains(JavaModifier.FINAL)) {
      return false;
    }
    return testWords.contains(field.getName())
        || isNamedElsewhere(field.getName(), field.getOwner());
  }

  private static boolean isNamedElsewhere(String name, JavaClass type) {
    final String own = outermost(type).getSimpleName() + ".java";
    return filesOfWord.getOrDefault(name, Set.of()).stream().anyMatch(file -> !file.equals(own));
  }

  private static boolean hasConstants(JavaClass type) {
    return type.getFields().stream().anyMatch(DeadCodeTest::isConstant);
  }

  private static boolean isConstant(JavaField field) {
    return field.getModifiers().containsAll(Set.of(JavaModifier.STATIC, JavaModifier.FINAL))
        && !field.getModifiers().contains(JavaModifier.PRIVATE)
        && (field.getRawType().isPrimitive() || field.getRawType().isEquivalentTo(String.class));
  }

  /** The method with those that it overrides and those that override it. */
  private static Set<JavaMethod> family(JavaMethod method) {
    final Set<JavaMethod> family = new HashSet<>(Set.of(method));
    if (method.getModifiers().contains(JavaModifier.STATIC)) {
      return family;
    }
    final Deque<JavaMethod> toVisit = new ArrayDeque<>(family);
    while (!toVisit.isEmpty()) {
      final JavaMethod next = toVisit.poll();
      Stream.of(
              next.getOwner().getAllRawSuperclasses().stream(),
              next.getOwner().getAllRawInterfaces().stream(),
              next.getOwner().getAllSubclasses().stream())
          .flatMap(related -> related)
          .flatMap(related -> related.getMethods().stream())
          .filter(other -> overrides(next, other))
          .filter(family::add)
          .forEach(toVisit::add);
    }
    return family;
  }

  private static boolean overrides(JavaMethod one, JavaMethod other) {
    return one.getName().equals(other.getName())
        && one.getRawParameterTypes().size() == other.getRawParameterTypes().size()
        && !other.getModifiers().contains(JavaModifier.STATIC)
        && !other.getModifiers().contains(JavaModifier.PRIVATE);
  }

  private static boolean isInside(JavaClass type, JavaClass outer) {
    return type.getName().equals(outer.getName())
        || type.getName().startsWith(outer.getName() + "$");
  }

  private static boolean hasMain(JavaClass type) {
    return type.tryGetMethod("main", String[].class).isPresent();
  }

  private static JavaClass outermost(JavaClass type) {
    return type.getEnclosingClass().map(DeadCodeTest::outermost).orElse(type);
  }

  private static Set<String> words(Path file) {
    final Set<String> words = new HashSet<>();
    final String code = COMMENT_OR_STRING.matcher(ProjectFiles.text(file)).replaceAll(" ");
    WORD.matcher(code).results().forEach(match -> words.add(match.group()));
    return words;
  }
}
