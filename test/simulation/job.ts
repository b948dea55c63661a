/** A child process of the simulation: gets seeds, plays them, answers with what came of each. */
import { plantBug } from './bugs.ts'
import { playSeed, type SeedRequest, watchRejections } from './play.ts'

watchRejections()
process.on('message', message => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- jobs.ts sends nothing else
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own parent process sent it
  const request = message as SeedRequest
  plantBug(request.bug)
  void playSeed(request).then(result => process.send?.(result))
})
