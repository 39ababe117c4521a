package agent.launcher.options;

import agent.fuzz.FuzzInputs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The configuration file and the command line. */
public final class OptionFuzz {
  /** Inputs to start from. */
  public static final List<byte[]> SEEDS =
      FuzzInputs.texts(
          "debug: true\nmtu: 1450\n",
          "agent-labels: [a, b]\nkvstore-opt: {a: b}\nlog-opt:\n  x: y\n",
          "\"ipv4-range\": auto\n# comment\nenable-ipv6: \"false\"\n",
          "conntrack-garbage-collector-interval: 1m30s\ndatapath-mode: veth\n",
          "a: &x [*x]\n",
          "--debug\n--mtu=1450\n-D\n-t\nvxlan",
          "--labels=a,b\n--labels\nc\n--kvstore-opt=a=b",
          "debug: [[[[[[[[[[1]]]]]]]]]]");

  private static Path file;

  private OptionFuzz() {}

  /** Makes a folder for the file. */
  public static void fuzzerInitialize() throws IOException {
    file = FuzzInputs.temporary("agent.yaml");
  }

  /** Reads an input as a file and, line by line, as arguments. */
  public static void fuzzerTestOneInput(byte[] input) throws IOException {
    Files.write(file, input);
    try {
      check(OptionFile.read(file));
    } catch (OptionException refused) {
      // as documented
    }
    try {
      check(OptionSources.commandLine(FuzzInputs.lines(input)));
    } catch (OptionException refused) {
      // as documented
    }
  }

  /** The values are the same where the texts are given as arguments. */
  private static void check(Map<String, List<String>> given) {
    final Map<String, Object> values = values(given);
    final List<String> arguments = new ArrayList<>();
    given.forEach((name, texts) -> texts.forEach(text -> arguments.add("--" + name + "=" + text)));
    final Map<String, List<String>> again = OptionSources.commandLine(arguments);
    final Map<String, Object> valuesAgain = values(again);
    values.keySet().removeIf(name -> given.get(name).isEmpty());
    FuzzInputs.assertSame(values, valuesAgain, arguments.toString());
  }

  private static Map<String, Object> values(Map<String, List<String>> given) {
    final Map<String, Object> values = new LinkedHashMap<>();
    given.forEach(
        (name, texts) ->
            values.put(
                name, texts.isEmpty() ? "" : OptionParser.parse(OptionTable.byName(name), texts)));
    return values;
  }
}
