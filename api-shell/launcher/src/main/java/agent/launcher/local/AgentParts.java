package agent.launcher.local;

import agent.cli.call.LocalParts;
import agent.maps.mirror.MapVisitor;
import agent.maps.mirror.PinnedMaps;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Pinned maps and rules, read by the same code as the agent's. */
final class AgentParts implements LocalParts {
  @Override
  public List<Map<String, Object>> maps(Path bpfRoot) throws IOException {
    return guarded(bpfRoot, () -> new PinnedMaps(bpfRoot).list()).stream()
        .map(AgentParts::element)
        .toList();
  }

  static Map<String, Object> element(MapVisitor.MapSummary map) {
    final Map<String, Object> element = new LinkedHashMap<>();
    element.put("entries", map.entries());
    element.put("flags", map.flags());
    element.put("key-size", map.keySize());
    element.put("max-entries", map.maxEntries());
    element.put("name", map.name());
    element.put("path", map.path());
    element.put("pressure", map.pressure());
    element.put("type", map.type());
    element.put("value-size", map.valueSize());
    return element;
  }

  @Override
  public boolean read(Path bpfRoot, String name, EntryVisitor visitor) throws IOException {
    final MapVisitor entries =
        new MapVisitor() {
          @Override
          public void onMap(MapSummary map, long mirroredAtMs) {
            // The command was given the name; it shows the entries.
          }

          @Override
          public boolean onEntry(
              CharSequence key, CharSequence value, DesiredAction action, String lastError) {
            return visitor.onEntry(key.toString(), value.toString());
          }
        };
    return guarded(bpfRoot, () -> new PinnedMaps(bpfRoot).read(name, entries));
  }

  @FunctionalInterface
  private interface Reading<T> {
    T read() throws IOException;
  }

  private static <T> T guarded(Path bpfRoot, Reading<T> reading) throws IOException {
    try {
      return reading.read();
    } catch (NoSuchFileException e) {
      throw new IOException("no agent has pinned maps under " + bpfRoot, e);
    } catch (java.nio.file.AccessDeniedException e) {
      throw new IOException(e.getFile() + ": only root may read it", e);
    }
  }

  @Override
  public RuleFault check(String rule) {
    return RuleChecker.check(rule);
  }

  @Override
  public List<String> warnings(String rule) {
    return RuleChecker.warnings(rule);
  }
}
