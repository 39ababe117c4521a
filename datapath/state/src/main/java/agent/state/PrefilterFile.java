package agent.state;

import agent.conductor.Faults;
import agent.datapath.spec.PrefilterList;
import agent.datapath.spec.PrefilterStore;
import agent.types.UnreadableStateException;
import java.util.Optional;

/** Stores the deny list in {@code prefilter/list.json}. */
final class PrefilterFile implements PrefilterStore {
  private static final String NAME = "list";

  private final StateFolder<PrefilterList> folder;
  private final Faults faults;

  PrefilterFile(StateFolder<PrefilterList> folder, Faults faults) {
    this.folder = folder;
    this.faults = faults;
  }

  @Override
  public Optional<PrefilterList> load() {
    try {
      return folder.read(NAME);
    } catch (DamagedStateException e) {
      final String message =
          ("prefilter: the list in %s cannot be read (%s). The list that the kernel holds stays in"
                  + " force and cannot be changed. Restore the file, or, to begin with an empty"
                  + " list, %s, and start the agent again")
              .formatted(folder.path(NAME), e.getMessage(), folder.moveAway(NAME));
      faults.failed(folder.path(NAME).toString(), message);
      throw new UnreadableStateException(message);
    }
  }

  @Override
  public void store(PrefilterList list) {
    folder.write(NAME, list);
  }
}
