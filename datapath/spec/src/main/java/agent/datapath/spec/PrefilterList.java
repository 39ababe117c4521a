package agent.datapath.spec;

import agent.types.Prefix;
import java.util.List;

/**
 * One revision of the deny list.
 *
 * @param revision increases by one with every change that adds or removes a prefix
 * @param deny canonical prefixes, sorted, without duplicates
 */
public record PrefilterList(long revision, List<Prefix> deny) {
  /** The initial list. */
  public static final PrefilterList EMPTY = new PrefilterList(1, List.of());

  /** Copies the list. */
  public PrefilterList {
    deny = List.copyOf(deny);
  }
}
