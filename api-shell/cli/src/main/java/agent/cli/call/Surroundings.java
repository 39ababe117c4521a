package agent.cli.call;

import agent.cli.output.Terminal;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Map;

/**
 * What a run is in.
 *
 * @param in standard input
 * @param out standard output
 * @param outPath where the kernel says what standard output is
 * @param err standard error
 * @param environment variables
 * @param terminal what the output goes to
 * @param local what is done without an agent
 */
public record Surroundings(
    InputStream in,
    PrintStream out,
    Path outPath,
    PrintStream err,
    Map<String, String> environment,
    Terminal terminal,
    LocalParts local) {
  Surroundings writingTo(PrintStream other) {
    return new Surroundings(in, other, outPath, err, environment, terminal, local);
  }
}
