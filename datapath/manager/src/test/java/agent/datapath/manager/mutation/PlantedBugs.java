package agent.datapath.manager.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.mutation.MutationProcess.Answer;
import agent.datapath.manager.mutation.MutationWorker.Verdict;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Plants each bug of the list in {@code bpf-src}, one at a time in each of two processes, and runs
 * the test that must fail. The property {@code mutations.only} is a regular expression on {@code
 * group/name}; {@code mutations.part} is {@code K/N}: of N parts of the list the Kth alone.
 */
public final class PlantedBugs {
  static final Path LIST = Path.of("../../bpf-src/tests/mutations/bugs.list");
  private static final int CAUGHT_PERCENT = 95;
  private static final int PROCESSES = 2;

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
    final List<Mutation> listed =
        Mutation.read(LIST).stream()
            .filter(mutation -> mutation.module().equals(module))
            .filter(mutation -> only.matcher(mutation.group() + "/" + mutation.name()).find())
            .toList();
    final List<Mutation> mutations = part(listed, System.getProperty("mutations.part", "1/1"));
    final List<String> tests =
        List.copyOf(new TreeSet<>(mutations.stream().map(Mutation::test).toList()));
    try (MutationProcesses processes = new MutationProcesses(PROCESSES, scratch, properties)) {
      final List<Answer> shipped = processes.all(tests, MutationProcess::run);
      for (int i = 0; i < tests.size(); i++) {
        final Answer answer = shipped.get(i);
        final String test = tests.get(i);
        assertEquals(Verdict.PASSED, answer.verdict(), () -> test + ": " + answer.message());
      }
      final List<Answer> answers = processes.all(mutations, MutationProcess::run);
      for (int i = 0; i < mutations.size(); i++) {
        final Mutation mutation = mutations.get(i);
        final int[] score = groups.computeIfAbsent(mutation.group(), group -> new int[2]);
        score[0] += answers.get(i).verdict() == Verdict.FAILED ? 1 : 0;
        score[1]++;
        note(mutation, answers.get(i));
      }
    }
    print(mutations.size());
    assertEquals(List.of(), invalid, "bugs that cannot be planted");
    assertTrue(
        (mutations.size() - survivors.size()) * 100 >= mutations.size() * CAUGHT_PERCENT,
        () -> "fewer than " + CAUGHT_PERCENT + " % are caught; these survive: " + survivors);
  }

  private static List<Mutation> part(List<Mutation> listed, String part) {
    final String[] numbers = part.split("/");
    final int parts = Integer.parseInt(numbers[1]);
    final int rest = Integer.parseInt(numbers[0]) % parts;
    return IntStream.range(0, listed.size())
        .filter(i -> i % parts == rest)
        .mapToObj(listed::get)
        .toList();
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
