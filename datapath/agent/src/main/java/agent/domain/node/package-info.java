/** What the domain holds, runs and watches on this node besides its workloads. */
package agent.domain.node;
