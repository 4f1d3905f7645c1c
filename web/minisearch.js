// assets/vendor/minisearch.js: the index behind the site's search.
export {default as MiniSearch} from "minisearch";
