package agent.datapath.manager.spec;

import java.io.IOException;
import java.util.Optional;

/** Keeps the deny list over a restart: a change is stored before it is answered. */
public interface PrefilterStore {
  /** What was stored last, or empty. */
  Optional<PrefilterList> load() throws IOException;

  /** Stores the list so that it survives SIGKILL as soon as this returns. */
  void store(PrefilterList list) throws IOException;
}
