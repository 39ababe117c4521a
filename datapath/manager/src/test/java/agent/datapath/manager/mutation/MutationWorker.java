package agent.datapath.manager.mutation;

import agent.datapath.programs.compile.MutatedSources;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * A process that plants bugs and runs their tests: reads {@code test}, or {@code test}, {@code
 * file} and {@code sed} with a separator between them, from its input, and answers each line with
 * one of a {@link Verdict} and a message.
 */
final class MutationWorker {
  /** How a test ended. */
  enum Verdict {
    PASSED,
    FAILED,
    /**
     * Nothing was proven: no such test, a skipped test, a script that changes no line, or programs
     * that cannot be compiled or loaded.
     */
    INVALID
  }

  /** The separator of the parts of a line (unit separator of ASCII). */
  static final String SEPARATOR = "\u001f";

  private final MutatedSources sources;
  private final MutatedLoader loader;
  private final UnaryOperator<String> tests;

  private MutationWorker(Path scratch) throws ReflectiveOperationException {
    sources = new MutatedSources(scratch);
    loader = new MutatedLoader(sources);
    Thread.currentThread().setContextClassLoader(loader);
    final Object created =
        loader.loadClass(MutationTests.class.getName()).getConstructor().newInstance();
    @SuppressWarnings("unchecked")
    final UnaryOperator<String> operator = (UnaryOperator<String>) created;
    tests = operator;
  }

  /** Runs tests until the input ends. */
  public static void main(String[] arguments) throws IOException, ReflectiveOperationException {
    final PrintStream answers = System.out;
    System.setOut(System.err);
    final MutationWorker worker = new MutationWorker(Path.of(arguments[0]));
    final BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      answers.println(worker.run(line.split(SEPARATOR)).replace('\n', ' '));
      answers.flush();
    }
  }

  private String run(String[] parts) throws IOException {
    sources.restore();
    if (parts.length > 1) {
      try {
        sources.change(parts[1], parts[2]);
      } catch (IllegalArgumentException failure) {
        return Verdict.INVALID + " " + failure.getMessage();
      }
    }
    final String verdict = tests.apply(parts[0]);
    final Optional<String> refused = loader.takeRefused();
    return refused.isPresent() ? Verdict.INVALID + " " + refused.get() : verdict;
  }
}
