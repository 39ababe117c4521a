package agent.datapath.manager.spec;

import agent.types.Prefix;
import java.util.List;

/**
 * The deny list at one moment.
 *
 * @param revision grows by one with every change
 * @param deny canonical, sorted, without duplicates
 */
public record PrefilterList(long revision, List<Prefix> deny) {
  /** The list of a node that never had one. */
  public static final PrefilterList EMPTY = new PrefilterList(1, List.of());

  /** Copies the list. */
  public PrefilterList {
    deny = List.copyOf(deny);
  }
}
