package agent.state;

import agent.conductor.Faults;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointStore;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Supplier;

/** Stores each endpoint in a file of its own, {@code endpoints/<id>.json}. */
final class EndpointFiles implements EndpointStore {
  private final NumberedFiles<EndpointRecord> files;
  private final Map<Integer, String> unreadable = new ConcurrentSkipListMap<>();

  EndpointFiles(StateFolder<EndpointRecord> folder, Faults faults) {
    files =
        new NumberedFiles<>(
            folder,
            faults,
            EndpointRecord::id,
            EndpointIdentifier.MAX_LOCAL_ID,
            "endpoint",
            "is closed");
  }

  @Override
  public List<EndpointRecord> load() {
    final NumberedFiles.Loaded<EndpointRecord> loaded = files.load();
    unreadable.clear();
    unreadable.putAll(loaded.unreadable());
    return loaded.documents();
  }

  @Override
  public Map<Integer, String> unreadable() {
    return Map.copyOf(unreadable);
  }

  @Override
  public void invalid(int id, String reason) {
    unreadable.put(id, files.invalid(id, reason));
  }

  @Override
  public void missed(Supplier<Set<Integer>> others) {
    if (files.isIncomplete()) {
      unreadable.putAll(files.missed(others.get()));
    }
  }

  @Override
  public void save(EndpointRecord endpoint) {
    files.save(endpoint);
  }

  @Override
  public boolean isFailing() {
    return files.isFailing();
  }

  /** Writes the record once more where the last write failed: only this shows whether it can be. */
  @Override
  public void checkWritable(EndpointRecord endpoint) {
    if (files.isFailing()) {
      save(endpoint);
    }
  }

  @Override
  public void remove(int id) {
    files.remove(id, () -> unreadable.remove(id));
  }
}
