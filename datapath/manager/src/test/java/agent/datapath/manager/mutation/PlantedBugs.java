package agent.datapath.manager.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.compile.MutatedSources;
import agent.datapath.manager.mutation.MutationProcess.Answer;
import agent.datapath.manager.mutation.MutationWorker.Verdict;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Pattern;

/**
 * Plants each bug of the list in {@code bpf-src}, one at a time, and runs the test that must fail.
 * The property {@code mutations.only} is a regular expression on {@code group/name}.
 */
public final class PlantedBugs {
  private static final Path LIST = Path.of("../../bpf-src/tests/mutations/bugs.list");
  private static final int CAUGHT_PERCENT = 95;
  private static final int COMPILERS = 2;

  private final Map<String, int[]> groups = new LinkedHashMap<>();
  private final List<String> survivors = new ArrayList<>();
  private final List<String> invalid = new ArrayList<>();

  private final String module;
  private final Path scratch;
  private final List<String> properties;

  /**
   * Prepares the bugs that the tests of a module find.
   *
   * @param module its name in the list
   * @param scratch an empty folder
   * @param properties {@code -D} arguments of the process that runs the tests
   */
  public PlantedBugs(String module, Path scratch, List<String> properties) {
    this.module = module;
    this.scratch = scratch;
    this.properties = properties;
  }

  /** Plants the bugs, prints how many are caught, and fails where too many are not. */
  public void check() throws IOException, InterruptedException {
    final Pattern only = Pattern.compile(System.getProperty("mutations.only", ""));
    final List<Mutation> mutations =
        Mutation.read(LIST).stream()
            .filter(mutation -> mutation.module().equals(module))
            .filter(mutation -> only.matcher(mutation.group() + "/" + mutation.name()).find())
            .toList();
    try (MutationProcess process = new MutationProcess(scratch, properties)) {
      checkTests(process, mutations);
      plantAll(process, mutations);
    }
    print(mutations.size());
    assertEquals(List.of(), invalid, "bugs that cannot be planted");
    assertTrue(
        (mutations.size() - survivors.size()) * 100 >= mutations.size() * CAUGHT_PERCENT,
        () -> "fewer than " + CAUGHT_PERCENT + " % are caught; these survive: " + survivors);
  }

  /** Runs each named test on the shipped objects: a test that fails there catches nothing. */
  private static void checkTests(MutationProcess process, List<Mutation> mutations)
      throws IOException, InterruptedException {
    for (final String test : new TreeSet<>(mutations.stream().map(Mutation::test).toList())) {
      final Answer answer = process.run(test, null);
      assertEquals(Verdict.PASSED, answer.verdict(), () -> test + ": " + answer.message());
    }
  }

  private void plantAll(MutationProcess process, List<Mutation> mutations)
      throws IOException, InterruptedException {
    final MutatedSources sources = new MutatedSources(scratch.resolve("sources"));
    try (ExecutorService compilers = Executors.newFixedThreadPool(COMPILERS)) {
      final List<Future<Path>> objects = new ArrayList<>();
      for (final Mutation mutation : mutations) {
        objects.add(
            compilers.submit(
                () -> sources.compile(mutation.name(), mutation.file(), mutation.sed())));
      }
      for (int i = 0; i < mutations.size(); i++) {
        final Mutation mutation = mutations.get(i);
        final int[] score = groups.computeIfAbsent(mutation.group(), group -> new int[2]);
        score[1]++;
        try {
          final Answer answer = process.run(mutation.test(), objects.get(i).get());
          score[0] += answer.verdict() == Verdict.FAILED ? 1 : 0;
          note(mutation, answer);
        } catch (ExecutionException failure) {
          note(mutation, new Answer(Verdict.INVALID, failure.getCause().getMessage()));
        }
      }
    }
  }

  private void note(Mutation mutation, Answer answer) {
    if (answer.verdict() == Verdict.PASSED) {
      survivors.add(mutation.name());
    } else if (answer.verdict() == Verdict.INVALID) {
      invalid.add(mutation.name() + ": " + answer.message());
    }
    if (Boolean.getBoolean("mutations.verbose")) {
      System.out.printf("%s: %s %s%n", mutation.name(), answer.verdict(), answer.message());
    }
  }

  private void print(int planted) {
    System.out.println("Bugs planted in bpf-src, caught / planted:");
    int caught = 0;
    for (final Map.Entry<String, int[]> group : groups.entrySet()) {
      final int[] score = group.getValue();
      caught += score[0];
      System.out.printf("  %-24s %3d / %3d%n", group.getKey(), score[0], score[1]);
    }
    System.out.printf("  %-24s %3d / %3d%n", "all", caught, planted);
    survivors.forEach(name -> System.out.println("  survives: " + name));
    invalid.forEach(reason -> System.out.println("  cannot be planted: " + reason));
  }
}
