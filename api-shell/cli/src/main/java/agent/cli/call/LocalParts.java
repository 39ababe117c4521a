package agent.cli.call;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * What commands do without an agent: read pinned maps and check rules. The program that has the
 * parts of the agent on its class path brings them; the client alone is on the contract only.
 */
public interface LocalParts {
  /** The client alone, which has none. */
  LocalParts NONE =
      new LocalParts() {
        @Override
        public List<Map<String, Object>> maps(Path bpfRoot) throws IOException {
          throw missing();
        }

        @Override
        public boolean read(Path bpfRoot, String name, EntryVisitor visitor) throws IOException {
          throw missing();
        }

        @Override
        public RuleFault check(String rule) {
          throw new java.io.UncheckedIOException(missing());
        }

        private static IOException missing() {
          return new IOException(
              "this command requires the libraries of the agent: start it as 'agentctl'");
        }
      };

  /** Receives the entries of a map. */
  @FunctionalInterface
  interface EntryVisitor {
    /**
     * Handles one entry.
     *
     * @return false to stop
     */
    boolean onEntry(String key, String value);
  }

  /**
   * What is wrong with a rule.
   *
   * @param path JSON path in the rule, such as {@code ingress[0].fromCIDR[1]}; empty for all of it
   * @param reason what is wrong there
   * @param known the words that may stand there; empty where any text may
   * @param isName whether the name of the member is wrong, and not its value
   */
  record RuleFault(String path, String reason, List<String> known, boolean isName) {}

  /**
   * Returns the pinned maps of an agent, each as an element of the answer of {@code GET /map}.
   *
   * @param bpfRoot BPF file system of the agent
   * @throws IOException if they cannot be read
   */
  List<Map<String, Object>> maps(Path bpfRoot) throws IOException;

  /**
   * Reads the entries of a pinned map.
   *
   * @return false if there is no such map
   * @throws IOException if it cannot be read
   */
  boolean read(Path bpfRoot, String name, EntryVisitor visitor) throws IOException;

  /**
   * Checks a rule as the agent does.
   *
   * @param rule JSON text
   * @return what is wrong first, or null
   */
  RuleFault check(String rule);

  /** Returns what of a valid rule no request can match: each a path in it and the reason. */
  default List<String> warnings(String rule) {
    return List.of();
  }
}
